"""The commands that are more than a call, each in a module; :mod:`sparkrank.cli` puts them together."""
