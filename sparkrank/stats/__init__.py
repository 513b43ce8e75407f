"""Statistics: intervals, tests, corrections, power and sequences of looks, from numbers that states already contain.

These are pure functions of numbers and arrays. Nothing here is random, reads a table, or knows what a metric is. scipy
is imported inside functions, because it takes longer to load than everything else.
"""
