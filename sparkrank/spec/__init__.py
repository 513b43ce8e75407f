"""The YAML document of a job: what may stand in it, and how it is read, overridden and refused."""

from sparkrank.spec.loading import load_spec
from sparkrank.spec.models import Spec

__all__ = ["Spec", "load_spec"]
