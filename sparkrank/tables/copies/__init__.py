"""Modules that publish stored days: copies of their tables in lakes, which other programs read."""
