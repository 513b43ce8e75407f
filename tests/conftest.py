"""The Spark session and the optional data that tests share.

Nothing happens at import. A test that does not ask for `spark` starts no JVM, also when others in the run do.
"""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from sparkrank.metrics import CATALOG
from tests.extent import examples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

PROJECT = Path(__file__).resolve().parent.parent
CLASSES = Path(sys.prefix) / "spark.jsa"  # Spark's, read and checked: scripts/spark_classes.py
SUMMARY = "summary"  # the property of a test whose text stands at the end of the run


def pytest_configure() -> None:
    # A busy machine makes a single example slow, which is no fault of what it tests.
    hypothesis.settings.register_profile("patient", deadline=None, max_examples=examples(100))
    hypothesis.settings.load_profile("patient")
    # ranx computes the same without numba's compiler, which takes 40 seconds. A process cannot change its mind later.
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    os.environ["SPARKRANK_PROGRESS"] = "0"  # on a busy machine a line of progress would be among what a test reads


# Of tests/<folder>: what its tests need, so that no one has to remember.
MARKS_OF_FOLDERS = {"browser": "browser", "jobs": "job", "peers": "peer"}
# Files without a JVM that take more than three seconds: `make quick` leaves them out.
SLOW_FILES = {
    *("test_days", "test_every_processor", "test_examples", "test_gates"),
    *("test_hanging", "test_iceberg", "test_iceberg_copies", "test_law", "test_memory", "test_once"),
    *("test_packaging", "test_parts"),
    *("test_plain_folders", "test_plan_command", "test_readme", "test_report_forms", "test_report_page"),
    *("test_schedulers", "test_simulated_intervals", "test_slices", "test_soak", "test_spark_ml"),
    *("test_states", "test_store_run", "test_stored_bits"),
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that need a JVM, a browser or another library, and those that are slow."""
    for item in items:
        if "spark_environment" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
        if (name := MARKS_OF_FOLDERS.get(item.path.parent.name)) is not None:
            item.add_marker(name)
        if item.path.stem in SLOW_FILES:
            item.add_marker(pytest.mark.slow)
    # Otherwise their order is random. Of several processes the first gets the first tests: one has the session of most
    # that need one, and the others take from it what is left at the end, of which nothing should be long.
    items.sort(key=lambda item: [item.get_closest_marker(name) is None for name in ("spark", "slow", "job")])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Shows what tests report beside passing; theirs may be another process, whose output nobody sees."""
    for report in (each for found in terminalreporter.stats.values() for each in found):
        for name, text in getattr(report, "user_properties", ()):
            if name == SUMMARY and report.when == "call":
                terminalreporter.write_line(text)


@pytest.fixture(autouse=True)
def _as_declared() -> Iterator[None]:
    """What a test registers is unknown to the next one."""
    before = set(CATALOG)
    yield
    for name in set(CATALOG) - before:
        CATALOG.remove(name)


# Folders whose tests wait for disks, as jobs do; tests/faults cut the power.
WAITING = ("browser", "connect", "faults", "jobs", "peers", "soak", "spark")


@pytest.fixture(autouse=True, scope="module")
def _quick_disk(request: pytest.FixtureRequest) -> Iterator[None]:
    """What is written is asked for, but not waited for, a fifth of the time of these tests: no reader sees that."""
    if request.path.parent.name in WAITING:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: os.fstat(handle) and None)  # it fails for what is not open, too
        yield


@pytest.fixture
def small_files() -> Iterator[None]:
    """Files of this process end at 4 KiB: the operating system refuses what is written beyond, as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.fixture(scope="session")
def spark_environment() -> Iterator[dict[str, str]]:
    """The environment of this process, made fit for Spark: also for tests that start spark-submit themselves."""
    with pytest.MonkeyPatch.context() as patch:
        # Workers must be the Python that runs the tests. The default is whatever python3 is on the path.
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYSPARK_DRIVER_PYTHON", sys.executable)
        # Loopback only: no open port, and no dependence on whether the machine can resolve its own name.
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        # A JVM that lives for a few small jobs ends before the code of its second compiler pays: a third of the
        # processor time of a spark-submit. Its heap is small enough for one thread to collect. Without the second
        # compiler Java keeps 48 MB of code, which the session of all tests fills: it would compile over and over.
        jvm = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m"
        if CLASSES.is_file():  # which a JVM of another kind, or with other jars, leaves aside: it need not say so
            jvm += f' "-XX:SharedArchiveFile={CLASSES}" -Xlog:disable'
        patch.setenv("SPARK_SUBMIT_OPTS", jvm)
        patch.setenv("SPARK_LAUNCHER_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        yield dict(os.environ)


@pytest.fixture(scope="session")
def spark(spark_environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One session for the whole run: starting a JVM takes longer than most tests."""
    from pyspark.sql import SparkSession

    scratch = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.ui.enabled": "false",  # it opens a port, and nobody looks
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",  # failures reach the tests as exceptions; warnings would bury pytest's report
        "spark.driver.bindAddress": "127.0.0.1",  # loopback, as above, for both ends of the driver's connection
        "spark.driver.host": "127.0.0.1",
        # Small data: 200 tasks a shuffle would be all waiting. Not 1, which hides what depends on partitioning, and to
        # which small partitions would be merged.
        "spark.sql.shuffle.partitions": "4",
        "spark.default.parallelism": "4",
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
        # Tables and shuffle files go where pytest cleans up, not into the checkout.
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.local.dir": str(scratch / "local"),
        "spark.sql.session.timeZone": "UTC",  # a timestamp means the same on every machine
        "spark.sql.execution.arrow.pyspark.enabled": "true",  # toPandas and createDataFrame, as in production
        "spark.python.task.killTimeout": "200ms",  # workers of cancelled tasks leave at once, not after two seconds
        "spark.python.worker.faulthandler.enabled": "true",  # one that crashes in native code says where
        "spark.driver.memory": "1g",  # ample for tests, and fits beside other things on a small machine
    }
    if os.environ.get("SPARKRANK_TEST_HIVE") == "1":  # make test-places: the catalog is a metastore of Hive, in Derby
        settings["spark.sql.catalogImplementation"] = "hive"
        metastore = f"jdbc:derby:;databaseName={scratch}/metastore;create=true"
        settings["spark.hadoop.javax.jdo.option.ConnectionURL"] = metastore
    builder = SparkSession.builder.master("local[2]").appName("sparkrank-tests")  # 2: tasks do run side by side
    for key, value in settings.items():
        builder = builder.config(key, value)
    with pytest.MonkeyPatch.context() as patch:
        # ALS nests deep where a JVM has not compiled its best code. Derby writes its log where a test runs.
        more = f"-Xss4m -Dderby.system.home={scratch}"
        patch.setenv("SPARK_SUBMIT_OPTS", f"{spark_environment['SPARK_SUBMIT_OPTS']} {more}")
        session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def another_session(spark: SparkSession) -> Iterator[SparkSession]:
    """A session for settings of its own; a DataFrame that is made of rows then makes ``spark`` the active one again."""
    yield spark.newSession()
    spark.createDataFrame([(1,)], "one int")


def optional_folder(variable: str, name: str) -> Path:
    """The folder that the environment variable names, else ../shared/<name>; skips the test when it is not there."""
    folder = Path(os.environ.get(variable) or PROJECT.parent / "shared" / name)
    if not folder.is_dir():
        pytest.skip(f"There is no folder {folder}: set {variable} to a folder of the same kind to run this test.")
    return folder


@pytest.fixture(scope="session")
def vectors_folder() -> Path:
    """Inputs and expected values from other libraries' public tests, one JSON file a library."""
    return optional_folder("SPARKRANK_VECTORS", "vectors")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Real rankings and labels: trec_eval's example, a TREC run, learning-to-rank sets."""
    return optional_folder("SPARKRANK_DATA", "data")


@pytest.fixture(scope="session")
def golden_folder() -> Path:
    """What other libraries print for the files of `data_folder`."""
    return optional_folder("SPARKRANK_GOLDEN", "golden")
