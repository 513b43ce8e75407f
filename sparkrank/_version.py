"""The version of sparkrank, which everything below the package's own face may import."""

__version__ = "0.2.0"
