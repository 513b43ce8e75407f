"""A format from outside the package in the scan lane: its splits travel to Spark's tasks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.sources.test_source_register import GROUPS, evaluated, registered

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["registered"]


@pytest.mark.usefixtures("registered")
def test_a_format_is_evaluated_in_the_scan_lane(spark: SparkSession, tmp_path: Path) -> None:
    assert evaluated(tmp_path, "scan", spark) == GROUPS
