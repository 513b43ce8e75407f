"""Sources, which read the rows of an input or a truth without Spark. Each format has its own source."""
