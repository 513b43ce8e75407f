"""sparkrank where people already work: functions of Spark columns, and what other programs ask for."""
