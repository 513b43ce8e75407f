"""The stored tables of days and windows, read again."""
