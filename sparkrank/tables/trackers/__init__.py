"""Modules that log stored days and evaluations to trackers of experiments, such as MLflow."""
