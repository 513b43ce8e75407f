"""The entry points for Python callers, and code that they share with the command line."""
