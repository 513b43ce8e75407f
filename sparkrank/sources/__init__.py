"""Sources: the rows of an input or a truth, read without Spark by the reader of their format."""
