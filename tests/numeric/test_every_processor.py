"""Every metric has the same bits on other processors: a process is told to leave unused what this one has."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from sparkrank.metrics import CATALOG, Metric
from tests.extent import IS_LONG

ROOT = Path(__file__).resolve().parents[2]
_CORE = "_core" if hasattr(np, "_core") else "core"  # of numpy 1
numpy_core = importlib.import_module(f"numpy.{_CORE}._multiarray_umath")
DISPATCHED = [name for name in numpy_core.__cpu_dispatch__ if numpy_core.__cpu_features__[name]]
OLD = {
    "numpy without wide vectors": {"NPY_DISABLE_CPU_FEATURES": " ".join(DISPATCHED)},
    "numpy without the widest": {"NPY_DISABLE_CPU_FEATURES": " ".join(set(DISPATCHED) - {"X86_V3"})},
    "an old C library and BLAS": {
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-AVX,-FMA,-FMA4",
        "OPENBLAS_CORETYPE": "Prescott",
    },
    "numpy without wide vectors or loops": {"NPY_DISABLE_CPU_FEATURES": " ".join(DISPATCHED), "SPARKRANK_NATIVE": "0"},
}
ALL_OLD = "everything old"
OLD[ALL_OLD] = OLD["numpy without wide vectors or loops"] | OLD["an old C library and BLAS"]
KINDS = OLD if IS_LONG else [ALL_OLD]  # a long run says which of them differs


def bits(kind: str | None) -> dict[str, list[str]]:
    command = [sys.executable, "-m", "tests.support.bits_of_metrics"]
    environment = {**os.environ, **({} if kind is None else OLD[kind])}
    run = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
    found: dict[str, list[str]] = json.loads(run.stdout)
    return found


def test_the_same_bits_on_other_processors() -> None:
    """Of every metric, with values that are numbers."""
    here = bits(None)
    numbers = {name for name, values in here.items() if not {"", "nan"}.issuperset(values)}
    names = {Metric.parse(name.partition(": ")[2]).name for name in numbers}
    assert names == CATALOG.keys()
    for kind in KINDS:
        there = bits(kind)
        assert here.keys() == there.keys()
        differing = [name for name, values in here.items() if values != there[name]]
        assert not differing, kind
