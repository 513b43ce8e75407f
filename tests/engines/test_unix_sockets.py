"""A session without Unix sockets is told once what it pays, where it pays more than a fifth."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pyspark")

from sparkrank.engines.spark.unix_sockets import missing_sockets

SOCKETS, FOLDER = "spark.python.unix.domain.socket.enabled", "spark.python.unix.domain.socket.dir"


class Session:
    """A session of the ``version`` of Spark with ``settings``; None: it hides them."""

    def __init__(self, settings: dict[str, str] | None, version: str) -> None:
        self.settings, self.version = settings, version

    @property
    def conf(self) -> Any:
        if self.settings is None:
            raise PermissionError
        return {"spark.master": "spark://host:7077", **self.settings}


class Context:
    """A context is told once, so each has to be another object."""


def told(
    settings: dict[str, str] | None = None, version: str = "4.1.0", tasks: int = 500, rows: int = 3_000_000
) -> str:
    return str(missing_sockets(Session(settings, version), Context(), tasks, rows) or "")  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _no_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_UDS_MODE", raising=False)


def test_the_sentence_has_the_setting_and_the_folder_where_one_is_needed() -> None:
    assert told({}) == (
        f"the session refuses Unix sockets between executors and workers ({SOCKETS} is not set): 500 short tasks sent "
        f"their bytes over TCP, which takes about a third longer; set {SOCKETS}=true before the session starts"
    )
    assert f"; set {SOCKETS}=true and {FOLDER}=/tmp before" in told({"spark.master": "yarn"})


def test_nothing_is_said_where_it_costs_less_or_cannot_be_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """26 ms of a core are less than a fifth of a task of 50,001 rows, and in 99 tasks 1.3 s of two cores."""
    for settings, how in (
        ({}, {"tasks": 99}),
        ({}, {"rows": 500 * 50_001}),
        ({}, {"version": "4.0.1"}),
        ({SOCKETS: "true"}, {}),
        ({SOCKETS: "false"}, {}),  # somebody has chosen
        ({"spark.python.daemon.module": "theirs"}, {}),
        ({"spark.executor.extraJavaOptions": "-Djava.io.tmpdir=/far"}, {}),
        (None, {}),
    ):
        assert told(settings, **how) == "", (settings, how)  # type: ignore[arg-type]
    assert told({}, tasks=100, rows=100 * 50_000, version="5.0")
    monkeypatch.setenv("PYSPARK_UDS_MODE", "false")
    assert told({}) == ""


def test_a_context_is_told_once() -> None:
    asked = Session({}, "4.1"), Context(), 500, 3_000_000
    assert [missing_sockets(*asked) is None for _ in range(2)] == [False, True]  # type: ignore[arg-type]
    assert told({})
