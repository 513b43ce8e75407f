"""The lowest layer: errors, redaction of secrets from messages, and the names of checks."""
