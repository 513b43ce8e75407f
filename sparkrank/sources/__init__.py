"""Sources, which read the rows of an input or a truth without Spark. Each file format has its source class."""
