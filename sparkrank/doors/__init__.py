"""The ways in: the functions of Python and the command line."""
