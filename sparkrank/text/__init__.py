"""Plain text for terminals and notebooks."""
