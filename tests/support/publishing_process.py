"""A process that publishes a stored day, as killed ones do: none of its code runs after the signal."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Mapping
from multiprocessing.process import BaseProcess

MODULES = ["sparkrank.jobs.publish_job", "sparkrank.config", "sparkrank.cli", "deltalake", "pyiceberg.catalog.sql"]


def publishing(conf: str, day: str, environment: Mapping[str, str]) -> BaseProcess:
    """A started process, forked from one that has imported all that it needs, and nothing else."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(MODULES)
    process = context.Process(target=_publish, args=(conf, day, dict(environment)), daemon=True)
    process.start()
    return process


def _publish(conf: str, day: str, environment: Mapping[str, str]) -> None:
    from sparkrank.config import load_spec
    from sparkrank.jobs.publish_job import publish_target
    from sparkrank.jobs.target import Target
    from sparkrank.tables.copies import iceberg_copies

    os.environ.update(environment)
    iceberg_copies._ROWS = 1  # a commit of several files
    if environment:
        from pyiceberg import catalog
        from pyiceberg.utils.config import Config

        catalog._ENV_CONFIG = Config()  # read when the module was imported
    spec = load_spec(conf)
    publish_target(spec, Target.of_day(spec, day))
