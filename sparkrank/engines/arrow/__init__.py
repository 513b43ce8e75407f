"""What Arrow reads, Parquet files or a table in memory, as rows with the columns of a bucket."""
