"""The values that users hold: an evaluation, and an explanation."""
