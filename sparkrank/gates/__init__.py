"""Gates: conditions for a day or a model to pass. They turn small tables into verdicts, without Spark or files."""
