"""The version of sparkrank, in a module without imports, so that every other module can import it."""

__version__ = "0.2.0"
