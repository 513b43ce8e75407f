"""Results as text for terminals and notebooks."""
