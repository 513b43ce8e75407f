"""The tables of a day: turning results into rows, committing a day to the output, and reading stored days."""
