"""Statistical functions for intervals, tests, corrections, power and repeated looks at the data.

All functions are pure functions of numbers and arrays: they use no random numbers, read no tables, and do not depend on
any metric. scipy is imported inside functions, because scipy takes longer to load than the whole package.
"""
