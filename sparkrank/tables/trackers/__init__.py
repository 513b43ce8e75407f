"""Modules that log stored days and evaluations to trackers of experiments, where teams look runs up."""
