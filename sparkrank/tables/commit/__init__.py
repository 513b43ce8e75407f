"""Modules that make the tables of a day visible to readers, all tables at the same time."""
