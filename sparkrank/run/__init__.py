"""The corridor of every evaluation: from a request by its lane to finished tables, as named and timed stages."""
