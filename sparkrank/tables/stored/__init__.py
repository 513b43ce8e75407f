"""Modules that read, check and merge the stored tables of days and windows."""
