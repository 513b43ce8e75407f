"""The YAML document of a job: its keys, and how it is read, overridden and refused."""

from sparkrank.config.document import Spec
from sparkrank.config.loading import load_spec

__all__ = ["Spec", "load_spec"]
