"""The steps of every evaluation, from a request to finished tables, in a lane (scan, local or frame)."""
