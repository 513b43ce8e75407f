"""Sources: readers of the rows of an input without Spark. Each file format has a class of its own."""
