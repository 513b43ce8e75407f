"""Prints the pages of docs/ that are made of the code. It stands beside them and is not installed.

``python -m docs.printers`` (or ``make pages``) writes all of them anew.
"""
