"""The job, its log and its spec are those of the tests of the job."""

from tests.jobs.conftest import log, spec, submit

__all__ = ["log", "spec", "submit"]
