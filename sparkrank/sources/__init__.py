"""Rows that Arrow reads: files and tables in memory, as splits with the columns of a bucket."""
