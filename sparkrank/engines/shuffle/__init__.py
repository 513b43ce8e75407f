"""Rows on their way to their bucket: which one, in what order, as which bytes, and where these are held."""
