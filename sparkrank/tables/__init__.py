"""The tables of a day: modules that turn results into rows, commit a day to the output, and read stored days."""
