"""The steps of every evaluation, from a request to finished tables, in any lane (scan, local or frame)."""
