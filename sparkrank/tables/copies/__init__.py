"""Modules that publish stored days: they copy the tables of days into lakes, where other programs read them."""
