"""The lowest layer: errors, what they may show, and the names of what is counted."""
