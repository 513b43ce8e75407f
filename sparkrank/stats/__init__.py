"""Statistics: intervals, tests, corrections, power and repeated looks, from numbers that states already contain.

All functions here are pure functions of numbers and arrays. Nothing is random, reads a table, or knows what a metric
is. scipy is imported inside functions, because scipy takes longer to load than everything else.
"""
