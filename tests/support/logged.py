"""The warnings that ``sr.evaluate`` logs."""

from __future__ import annotations

import logging

import pytest

OF_SMALL_LOGS = ("few_groups", "large_group")  # which most logs of tests are


def warnings_about_input(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The sentences of the warnings, without those that a log has for being small."""
    return [
        each.getMessage()
        for each in caplog.records
        if each.levelno == logging.WARNING and getattr(each, "code", None) not in OF_SMALL_LOGS
    ]
