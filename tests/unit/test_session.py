"""Which sessions are told to log errors alone: those of whom nobody has said what they shall log."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from sparkrank.run import session

pytestmark = pytest.mark.same_without_loops

pyspark = pytest.importorskip("pyspark")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What a session is started with, after ``spark_session``; the properties of the JVM are in ``properties``."""
    given: dict[str, str] = {}

    class Builder:
        def appName(self, name: str) -> Builder:  # noqa: N802 - as Spark calls it
            given["name"] = name
            return self

        def config(self, key: str, value: str) -> Builder:
            given[key] = value
            return self

        def getOrCreate(self) -> Session:  # noqa: N802
            return Session()

    class Session:
        builder = Builder()
        conf = {"spark.sql.execution.arrow.maxRecordsPerBatch": "7"}  # noqa: RUF012 - as Spark's, it has a get

        @staticmethod
        def getActiveSession() -> None:  # noqa: N802
            return None

    import pyspark.sql

    monkeypatch.setattr(pyspark.sql, "SparkSession", Session)
    for name in (
        "MASTER",
        "SPARK_REMOTE",
        "SPARK_API_MODE",
        "SPARK_CONNECT_MODE_ENABLED",
        "SPARK_CONNECT_MODE",
        "LOG4J_CONFIGURATION_FILE",
    ):
        monkeypatch.delenv(name, raising=False)
    properties(monkeypatch, {})
    return given


def properties(monkeypatch: pytest.MonkeyPatch, given: dict[str, str] | None) -> None:
    """Let the JVM have the properties ``given``; None: there is no JVM, and asking starts one."""

    def get(key: str) -> str | None:
        assert given is not None, "a JVM was started"
        return given.get(key)

    monkeypatch.setattr(pyspark.SparkContext, "getSystemProperty", get)


def level(started: dict[str, str]) -> str | None:
    session.spark_session("test")
    return started.get("spark.log.level")


@pytest.mark.parametrize(
    ("master", "expected"),
    [
        ("spark://host:7077", "ERROR"),
        ("yarn", "ERROR"),
        ("k8s://https://host", "ERROR"),
        ("local-cluster[2,1,1024]", "ERROR"),
        ("local[2]", "FATAL"),
        ("local", "FATAL"),
        (None, "FATAL"),
    ],
)
def test_errors_alone_where_nobody_has_said(
    started: dict[str, str], monkeypatch: pytest.MonkeyPatch, master: str | None, expected: str
) -> None:
    """Not those of tasks where these are of the driver's own process: the sentence has what they fail by."""
    properties(monkeypatch, {} if master is None else {"spark.master": master})
    assert level(started) == expected


@pytest.mark.parametrize(
    ("master", "said", "environment", "expected"),
    [
        ("local[2]", None, None, sys.executable),
        (None, None, None, sys.executable),
        ("local-cluster[2,1,1024]", None, None, None),  # as a cluster: nobody has to be right about its machines
        ("yarn", None, None, None),
        ("spark://host:7077", None, None, None),
        ("local[2]", "/theirs", None, None),  # spark-submit has told Spark
        ("local[2]", None, "/theirs", "/theirs"),
    ],
)
def test_workers_of_this_machine_run_this_python_unless_somebody_has_said(
    started: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    master: str | None,
    said: str | None,
    environment: str | None,
    expected: str | None,
) -> None:
    """A session that is here already is not ours, and of other machines nobody knows what they have."""
    monkeypatch.setenv("PYSPARK_PYTHON", environment or "")  # so that it is as before after the test
    if environment is None:
        monkeypatch.delenv("PYSPARK_PYTHON")
    given = {"spark.master": master, "spark.pyspark.python": said}
    properties(monkeypatch, {key: value for key, value in given.items() if value is not None})
    session.spark_session("test")
    assert os.environ.get("PYSPARK_PYTHON") == expected


@pytest.mark.parametrize(
    "key", ["spark.log.level", "log4j2.configurationFile", "log4j.configurationFile", "log4j.configuration"]
)
def test_a_setting_of_the_users_holds(started: dict[str, str], monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    properties(monkeypatch, {key: "INFO"})
    assert level(started) is None


def test_an_environment_of_the_users_holds(started: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOG4J_CONFIGURATION_FILE", "mine.xml")
    assert level(started) is None


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("log4j2.properties", None),
        ("log4j2.xml", None),
        ("log4j2.yaml", None),
        ("log4j2-test.json", None),
        ("log4j2.properties.template", "FATAL"),  # each Spark has one
        ("spark-defaults.conf", "FATAL"),
    ],
)
def test_a_configuration_on_the_class_path_holds(
    started: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, file: str, expected: str | None
) -> None:
    """As that of a cluster, in the folder SPARK_CONF_DIR."""
    (tmp_path / file).write_text("", encoding="utf-8")
    places = f"/nowhere/jars/*:{tmp_path}/:/nowhere/else"
    properties(monkeypatch, {"java.class.path": places})
    assert level(started) == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SPARK_REMOTE", "sc://host"),
        ("SPARK_API_MODE", "Connect"),
        ("SPARK_CONNECT_MODE_ENABLED", "1"),
        ("SPARK_CONNECT_MODE", "1"),
    ],
)
def test_over_connect_no_jvm_is_asked(
    started: dict[str, str], monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    properties(monkeypatch, None)
    monkeypatch.setenv(name, value)
    assert level(started) is None
