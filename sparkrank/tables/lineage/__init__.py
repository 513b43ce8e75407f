"""Modules that report to lineage programs: the tables from which a day was computed, and the tables of the day."""
