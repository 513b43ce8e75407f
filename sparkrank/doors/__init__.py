"""The functions for Python callers, and code common to these functions and the command line."""
