"""Numpy over segments: rankings of many groups at once, and what is read off them.

Nothing here knows a metric's text, a table or Spark. Arrays of one row per impression are "ranked" when they stand in
rank order: group after group, in each group by score descending.
"""
