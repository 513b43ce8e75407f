-- What DuckDB can leave out, it leaves out here: other days, rows of robots, columns that no metric reads.
select user_id, score, clicked
from read_parquet('{{ var("log") }}/dt=*/*.parquet', hive_partitioning = true)
where dt = '{{ var("day") }}'
