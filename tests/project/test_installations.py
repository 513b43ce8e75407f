"""What is released, installed into fresh environments: every Python at hand, and every extra alone.

Each takes a download or two, so `make test-installs` runs them, and not `make test`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
_PYPROJECT = (PROJECT / "pyproject.toml").read_text(encoding="utf-8")
VERSIONS = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', _PYPROJECT)
_OTHERS = ("spark", "test", "dev", "bench", "docs")  # extras that are run by other targets

# What shows that an extra is enough: a command in a folder where `sparkrank demo` has run, and the package it needs.
EXTRAS = {
    "report": ("altair", "ls sparkrank-demo/tables/report/day=2026-01-31/report.html"),
    "delta": ("deltalake", "sparkrank publish {day} --set 'output.publish=[{{format: delta, path: lake}}]'"),
    "iceberg": ("pyiceberg", "python -c 'import sparkrank.tables.copies.iceberg_copies'"),
    "mlflow": ("mlflow", "sparkrank validate {conf} --set 'track=[{{to: mlflow, experiment: nightly}}]'"),
    "wandb": ("wandb", "python -c 'import wandb, sparkrank'"),
    "openlineage": ("openlineage", "sparkrank validate {conf} --set 'notify=[openlineage]'"),
    "stores": ("obstore", "python -c 'import obstore, sparkrank'"),
    "dagster": (
        "dagster_pipes",
        "sparkrank evaluate {day} --pipes 2>refused || test $? = 2; grep 'Dagster did not start this command' refused",
    ),
    "prometheus": ("prometheus_client", "sparkrank gate {day} --prometheus demo.prom"),
}
_CONF = "--conf sparkrank-demo/demo.yaml"
_DAY = f"{_CONF} --date 2026-01-31"

pytestmark = [
    pytest.mark.tools,
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        os.environ.get("SPARKRANK_TEST_INSTALL") != "1", reason="installations take minutes: make test-installs"
    ),
]


def run(command: str, folder: Path, **environment: str) -> str:
    """Run ``command`` in the environment of ``folder``, and return what it prints."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYSPARK", "SPARK"))}
    path = f"{folder}/env/bin:{os.environ['PATH']}"
    shell = ["bash", "-euc", command]
    done = subprocess.run(
        shell, cwd=folder, env={**clean, "PATH": path, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution."""
    folder = tmp_path_factory.mktemp("sources")
    run(f"git clone --quiet {PROJECT} clone && {sys.executable} -m venv env && pip install --quiet build", folder)
    run("python -m build --sdist --outdir . clone", folder)
    (archive,) = folder.glob("*.tar.gz")
    return archive


@pytest.fixture(scope="module")
def wheel(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Their wheel for the Python that runs the tests: its loops take a minute to compile, and no extra changes them."""
    folder = tmp_path_factory.mktemp("wheel")
    run(f"{sys.executable} -m venv env && pip wheel --quiet --no-deps --wheel-dir . {sources}", folder)
    (archive,) = folder.glob("*.whl")
    return archive


def python(version: str) -> str:
    """The interpreter of ``version``, on the path or among those of pyenv."""
    places = [f"python{version}", *map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))]
    for place in filter(shutil.which, places):  # a shim of pyenv may be there and start nothing
        if subprocess.run([place, "-c", ""], check=False, capture_output=True).returncode == 0:
            return place
    pytest.skip(f"there is no Python {version}")


@pytest.mark.parametrize(
    ("version", "packages"),
    [*((version, "newest") for version in VERSIONS), (VERSIONS[0], "oldest")],
)
def test_a_wheel_of_the_sources_runs_the_demo(version: str, packages: str, sources: Path, tmp_path: Path) -> None:
    """With the newest packages on each Python, and with the oldest that are allowed on the oldest one."""
    run(f"{python(version)} -m venv env && pip install --quiet build", tmp_path)
    run(f"pip wheel --quiet --no-deps --wheel-dir . {sources}", tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    oldest = f"--constraint {PROJECT}/constraints-minimum.txt" if packages == "oldest" else ""
    run(f"pip install --quiet {oldest} '{wheel}[spark,report]'", tmp_path)
    assert "loops compiled" in run("sparkrank --version", tmp_path)
    java = os.environ["JAVA_HOME"]
    printed = run("sparkrank demo --rows 1000 2>&1", tmp_path, JAVA_HOME=java, SPARK_LOCAL_IP="127.0.0.1")
    assert "Lane: scan" in printed


def test_the_sources_install_where_there_is_no_compiler(sources: Path, tmp_path: Path) -> None:
    run(f"{sys.executable} -m venv env", tmp_path)
    run(f"pip install --quiet {sources}", tmp_path, CC="/bin/false", CXX="/bin/false")
    assert "loops in numpy" in run("sparkrank --version", tmp_path)
    assert "Lane: local" in run("sparkrank demo --rows 1000", tmp_path)


def test_every_extra_is_tried_alone() -> None:
    listed = re.search(r"\[project.optional-dependencies\]\n(.*?)\n\[", _PYPROJECT, re.DOTALL)
    assert listed is not None
    assert {*EXTRAS, *_OTHERS} >= set(re.findall(r"^(\w+) = \[", listed[1], re.MULTILINE)) >= set(EXTRAS)


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_alone_is_enough(extra: str, wheel: Path, tmp_path: Path) -> None:
    package, command = EXTRAS[extra]
    run(f"{sys.executable} -m venv env && pip install --quiet '{wheel}[{extra}]'", tmp_path)
    run(f"python -c 'import {package}'", tmp_path)
    for other, (absent, _) in EXTRAS.items():
        if other != extra:
            code = f"import importlib.util; assert importlib.util.find_spec('{absent}') is None, '{absent}'"
            run(f'python -c "{code}"', tmp_path)
    run("sparkrank demo --rows 1000", tmp_path)
    run(command.format(day=_DAY, conf=_CONF), tmp_path)
