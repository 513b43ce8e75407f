"""Gates: conditions that a day or a model must meet.

Verdicts are computed from small tables, without Spark.
"""
