"""The commands that are more than a call, each in a module; :mod:`sparkrank.doors.cli` puts them together."""
