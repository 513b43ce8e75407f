"""Sources: what the rows of an input or a truth are, as the reader of their format has them, without Spark."""
