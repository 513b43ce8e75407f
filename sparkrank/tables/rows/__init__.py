"""What stands in each table: results, comparisons and counts as rows."""
