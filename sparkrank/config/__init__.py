"""The YAML document of a job: its keys, and how the document is read, overridden and validated."""

from sparkrank.config.document import Spec
from sparkrank.config.loading import load_spec

__all__ = ["Spec", "load_spec"]
