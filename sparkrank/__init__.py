"""sparkrank: offline evaluation of recommenders, search and ads, on Spark."""

__version__ = "0.1.0"
