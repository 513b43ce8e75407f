"""Gates: conditions under which a day, or a model, passes. Small tables in, verdicts out: no Spark and no files."""
