"""Modules that report lineage to other programs: the tables from which a day was computed, and the day's tables."""
