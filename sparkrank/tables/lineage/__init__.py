"""Modules that tell lineage programs which tables a day was made of, and which tables it made."""
