"""The lowest layer of the package: errors, removal of secrets from messages, and the names of data quality checks."""
