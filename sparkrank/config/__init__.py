"""The spec (the YAML document of a job): its keys, and functions that read, override and validate it."""

from sparkrank.config.document import Spec
from sparkrank.config.loading import load_spec

__all__ = ["Spec", "load_spec"]
