"""The rows of each table: results, comparisons and counts."""
