"""What a session is started with: what nobody has set, of its log, its workers and what makes it fast."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from sparkrank.run import session

pyspark = pytest.importorskip("pyspark")

OVER_CONNECT = {
    "SPARK_REMOTE": "sc://host", "SPARK_API_MODE": "Connect", "SPARK_CONNECT_MODE_ENABLED": "1",
    "SPARK_CONNECT_MODE": "1",
}  # fmt: skip

SOCKETS, FOLDER = "spark.python.unix.domain.socket.enabled", "spark.python.unix.domain.socket.dir"
COMPRESS, DELAY = "spark.shuffle.compress", "spark.executorEnv.MIMALLOC_PURGE_DELAY"
RECOMMENDED = (
    SOCKETS, COMPRESS, DELAY, "spark.shuffle.sort.bypassMergeThreshold", "spark.shuffle.checksum.algorithm",
)  # fmt: skip


def recommended(started: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in started.items() if name in (*RECOMMENDED, FOLDER)}


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What a session is started with, after ``spark_session``."""
    given: dict[str, str] = {}

    class Builder:
        def appName(self, name: str) -> Builder:  # noqa: N802 - as Spark calls it
            return self.config("name", name)

        def config(self, key: str, value: str) -> Builder:
            given[key] = value
            return self

        def getOrCreate(self) -> type:  # noqa: N802
            return Session

    class Session:
        builder = Builder()
        conf = {"spark.sql.execution.arrow.maxRecordsPerBatch": "7"}  # noqa: RUF012 - as Spark's, it has a get
        getActiveSession = staticmethod(lambda: None)  # noqa: N815

    import pyspark.sql

    monkeypatch.setattr(pyspark.sql, "SparkSession", Session)
    for name in ("MASTER", "LOG4J_CONFIGURATION_FILE", "MIMALLOC_PURGE_DELAY", "PYSPARK_UDS_MODE", *OVER_CONNECT):
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


def test_errors_alone_where_nobody_has_said(started: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Not those of tasks where these are of the driver's own process: the sentence has what they fail by."""
    for masters, expected in (
        (("spark://host:7077", "yarn", "k8s://https://host", "local-cluster[2,1,1024]"), "ERROR"),
        (("local[2]", "local", None), "FATAL"),
    ):
        for master in masters:
            properties(monkeypatch, {} if master is None else {"spark.master": master})
            assert level(started) == expected, master


def test_workers_of_this_machine_run_this_python_unless_somebody_has_said(
    started: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session that is here already is not ours, and of other machines nobody knows what they have."""
    for master, said, environment, expected in (
        ("local[2]", None, None, sys.executable),
        (None, None, None, sys.executable),
        ("local-cluster[2,1,1024]", None, None, None),  # as a cluster: nobody has to be right about its machines
        ("yarn", None, None, None),
        ("local[2]", "/theirs", None, None),  # spark-submit has told Spark
        ("local[2]", None, "/theirs", "/theirs"),
    ):
        with monkeypatch.context() as patch:
            patch.setenv("PYSPARK_PYTHON", environment or "")  # so that it is as before after the test
            if environment is None:
                patch.delenv("PYSPARK_PYTHON")
            given = {"spark.master": master, "spark.pyspark.python": said}
            properties(patch, {key: value for key, value in given.items() if value is not None})
            session.spark_session("test")
            assert os.environ.get("PYSPARK_PYTHON") == expected, master


def test_a_setting_of_the_users_holds(started: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Or a configuration on the class path, as that of a cluster in SPARK_CONF_DIR; a template is none."""
    for key in ("spark.log.level", "log4j2.configurationFile", "log4j.configurationFile", "log4j.configuration"):
        properties(monkeypatch, {key: "INFO"})
        assert level(started) is None, key
    properties(monkeypatch, {"java.class.path": f"/nowhere/jars/*:{tmp_path}/:/nowhere/else"})
    files = {"log4j2.properties": True, "log4j2.xml": True, "log4j2.yaml": True, "log4j2-test.json": True}
    for file, is_configuration in (files | {"log4j2.properties.template": False, "spark-defaults.conf": False}).items():
        started.clear()
        (tmp_path / file).touch()
        assert (level(started) is None) == is_configuration, file
        (tmp_path / file).unlink()
    started.clear()
    monkeypatch.setenv("LOG4J_CONFIGURATION_FILE", "mine.xml")
    assert level(started) is None


def test_over_connect_no_jvm_is_asked(started: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    properties(monkeypatch, None)
    for name, value in OVER_CONNECT.items():
        with monkeypatch.context() as alone:
            alone.setenv(name, value)
            assert level(started) is None, name
            assert not recommended(started), name


def test_a_session_gets_the_recommended_settings_that_nobody_has_set(
    started: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the values of the file that recommends them; the user's value stays, whatever it is."""
    lines = (Path(__file__).parents[2] / "conf" / "spark-defaults.conf").read_text().splitlines()
    file = dict(line.split() for line in lines if line.startswith("spark."))
    session.spark_session("test")
    assert recommended(started) == {name: file[name] for name in RECOMMENDED}
    for name in RECOMMENDED:
        started.clear()
        properties(monkeypatch, {name: "theirs"})
        session.spark_session("test")
        assert recommended(started) == {other: file[other] for other in RECOMMENDED if other != name}
    started.clear()
    properties(monkeypatch, {"spark.io.compression.codec": "zstd"})  # who chooses how to compress wants it compressed
    monkeypatch.setenv("MIMALLOC_PURGE_DELAY", "0")
    session.spark_session("test")
    assert set(RECOMMENDED) - set(recommended(started)) == {COMPRESS, DELAY}


def test_nothing_is_given_to_a_session_that_exists(started: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    import pyspark.sql

    monkeypatch.setattr(pyspark.sql.SparkSession, "getActiveSession", lambda: "a session")
    session.spark_session("test")
    assert not recommended(started)


def test_unix_sockets_only_where_a_socket_fits_into_its_folder(
    started: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """61 characters at most, Spark's own limit: of 104 (of macOS) a name such as ``/.UUID.sock`` takes 43."""
    long, short = {"java.io.tmpdir": "/" + "x" * 61}, "/tmp"  # noqa: S108 - it is only named
    for given, on, folder in (
        ({"spark.master": "local[2]", "java.io.tmpdir": "/" + "x" * 60}, True, None),
        (long, False, None),
        (long | {FOLDER: "/theirs"}, True, None),
        ({"spark.master": "yarn"}, True, short),  # its containers have long folders
        (long | {"spark.master": "yarn"}, True, short),  # the driver too is in one
        ({"spark.master": "yarn", FOLDER: "/theirs"}, True, None),
        ({"spark.executor.extraJavaOptions": "-Xss4m -Djava.io.tmpdir=/far"}, False, None),
        ({"spark.executor.extraJavaOptions": "-Xss4m"}, True, None),
        ({"spark.python.daemon.module": "rapids.daemon"}, False, None),  # knows TCP alone
        ({"spark.python.worker.module": "theirs"}, False, None),
    ):
        started.clear()
        properties(monkeypatch, given)
        session.spark_session("test")
        assert (started.get(SOCKETS), started.get(FOLDER)) == ("true" if on else None, folder), given
    started.clear()
    properties(monkeypatch, {"spark.master": "yarn"})
    with monkeypatch.context() as patch:
        patch.setenv("PYSPARK_UDS_MODE", "false")
        session.spark_session("test")
    with monkeypatch.context() as patch:
        patch.delattr("socket.AF_UNIX")  # as on Windows
        session.spark_session("test")
    assert not {SOCKETS, FOLDER} & set(started)
