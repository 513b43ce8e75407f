"""Whether two checkouts of sparkrank write the same bits: every table of three days and a window, in every lane.

    python scripts/same_bits.py BEFORE AFTER [--lanes local scan frame] [--keep FOLDER]

Each checkout runs in processes of its own, with the Python of its ``.venv``, once with compiled loops and once with
numpy alone. A day is evaluated for each of several specs (plain rows, a truth beside lists, arrays), then the days are
merged; and the days that BEFORE wrote are merged by AFTER. Columns that name a run are left out: they hold times,
paths and versions. Floats are compared as bits.

Exits with 1 where a table differs, and names it.
"""

from __future__ import annotations

import argparse
import glob
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import yaml

DAYS = ("2026-01-01", "2026-01-02", "2026-01-03")
TABLES = ("metrics", "groups", "blocks", "states", "quality", "curves", "distributions", "items")
OF_A_RUN = ("run_id", "spec_hash", "day", "dt", "window")
LANES = ("local", "scan", "frame")
SETTINGS = {"engine": {"bucket_rows": 3000}, "output": {"blocks": True, "curves": 50}}
METRICS = [
    *("ndcg@5", "ndcg(gain=exp2)@10", "p@5", "r@10", "hit@1", "ap", "ap(over=min_k_relevant)@10", "rr", "rprec"),
    *("err(ties=item)@10", "rbp", "bpref", "gauc", "group_auc", "p90(ndcg@5)", "ndcg(weight=rows)@5"),
    *("auc", "auc(exact)", "auc_up(digits=5)", "pr_auc", "ks", "bep", "logloss", "ece", "brier", "accuracy", "ne"),
    *("coverage(ties=item)@5", "gini(ties=item)@5"),
]


def write_inputs(folder: Path) -> dict[str, Path]:
    """Inputs of every day and the specs that read them, by name."""
    for number, day in enumerate(DAYS):
        drawn = np.random.default_rng(number)
        groups, rows = 1500, 20000
        group = np.sort(drawn.integers(0, groups, rows))
        item = drawn.integers(0, 400, rows)
        score = drawn.random(rows).round(2)
        label = drawn.choice([0, 0, 0, 1, 2], rows)
        country = drawn.choice(np.array(["de", "fr", "", None], object), rows)
        log = pa.table(
            {
                "user": pa.array([f"user {each}" for each in group]),
                "item": pa.array(item, pa.int64()),
                "one": pa.array(score, mask=drawn.random(rows) < 0.05),
                "two": pa.array(np.clip(score + drawn.normal(0, 0.2, rows), 0, 1)),
                "label": pa.array(label, pa.int32(), mask=drawn.random(rows) < 0.05),
                "country": pa.array(country, pa.string()),
                "weight": pa.array(drawn.integers(1, 5, rows) / 4),
            }
        )
        kept = pc.greater(pa.array(drawn.random(rows)), 0.3)
        _write(log, folder / "log" / f"dt={day}", files=3)
        _write(log.filter(kept).drop_columns(["label"]), folder / "lists" / f"dt={day}", files=2)
        _write(
            log.select(["user", "item", "label", "country"]).filter(pc.greater(log["label"], 0)),
            folder / "truth" / f"dt={day}",
        )
        _write(_arrays(drawn), folder / "arrays" / f"dt={day}")
    scores = {"one": "one", "two": "two"}
    by_user = {"group": "user", "item": "item", "score": scores}
    rows_of = {"path": f"{folder}/log/dt={{date}}", "columns": {**by_user, "label": "label"}}
    weighted = {**rows_of, "columns": {**rows_of["columns"], "weight": "weight"}}
    lists = {"path": f"{folder}/lists/dt={{date}}", "columns": by_user}
    truth = {"path": f"{folder}/truth/dt={{date}}", "columns": {"label": "label"}}
    arrays = {
        "path": f"{folder}/arrays/dt={{date}}",
        "columns": {"group": "user", "items": {"one": "predicted"}, "true_items": "wanted"},
    }
    of_lists = [
        each for each in METRICS if each.partition("@")[0].split("(")[0] in ("ndcg", "p", "r", "hit", "ap", "rr")
    ]
    specs = {
        "rows": {"input": rows_of, "metrics": METRICS, "slices": ["country"]},
        "weighted": {"input": weighted, "metrics": METRICS, "definitions": {"ties": "item"}},
        "truth": {"input": lists, "truth": truth, "metrics": METRICS[:16], "slices": ["country"]},
        "arrays": {"input": arrays, "metrics": of_lists},
    }
    paths = {}
    for name, spec in specs.items():
        paths[name] = folder / f"{name}.yaml"
        paths[name].write_text(yaml.safe_dump(spec))
    return paths


def _arrays(drawn: np.random.Generator) -> pa.Table:
    lists = [drawn.permutation(50)[: drawn.integers(1, 12)] for _ in range(600)]
    wanted = [drawn.permutation(50)[: drawn.integers(1, 5)] for _ in range(600)]
    of = pa.list_(pa.int64())
    return pa.table({"user": np.arange(600), "predicted": pa.array(lists, of), "wanted": pa.array(wanted, of)})


def _write(table: pa.Table, folder: Path, files: int = 1) -> None:
    folder.mkdir(parents=True)
    step = -(-table.num_rows // files)
    for number in range(files):
        pq.write_table(table.slice(number * step, step), folder / f"part-{number}.parquet")


def run(tree: Path, job: str, spec: Path, output: Path, lane: str, native: bool, *more: str) -> None:
    """Run one job of the checkout ``tree``, and exit with its words where it fails."""
    python = tree / ".venv/bin/python"
    settings = {**SETTINGS["engine"], "lane": lane}
    overrides = [f"engine.{key}={value}" for key, value in settings.items()]
    overrides += [f"output.{key}={str(value).lower()}" for key, value in SETTINGS["output"].items()]
    words = [job, "--conf", str(spec), *more, "--set", f"output.path={output}"]
    for override in overrides:
        words += ["--set", override]
    local = lane == "local" or job == "merge"
    command = [str(python), "-m", "sparkrank"] if local else [str(tree / ".venv/bin/spark-submit"), "jobs/evaluate.py"]
    environment = {
        **os.environ,
        "PYTHONPATH": str(tree),
        "PYSPARK_PYTHON": str(python),
        "PYSPARK_DRIVER_PYTHON": str(python),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARKRANK_NATIVE": "1" if native else "0",
    }
    done = subprocess.run(
        [*command, *(words if local else words[1:])],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{tree.name}: {' '.join(words)}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")


def tables_of(output: Path) -> dict[str, pa.Table]:
    """Every table below ``output``, in an order of its own rows, without what names the run."""
    found = {}
    for name in [*TABLES, *(f"windows/{each}" for each in TABLES)]:
        folder = output / name  # whose days are links, which Path.rglob does not follow
        files = sorted(glob.glob("**/*.parquet", root_dir=folder, recursive=True))  # noqa: PTH207 - it follows links
        if not files:
            continue
        parts = [pq.ParquetFile(folder / each).read() for each in files]
        table = pa.concat_tables(parts, promote_options="permissive")
        of = [Path(file).parts[0] for file, part in zip(files, parts, strict=True) for _ in range(part.num_rows)]
        table = table.append_column("partition", pa.array(of, pa.string()))
        found[name] = _in_order(table.drop_columns([each for each in OF_A_RUN if each in table.column_names]))
    return found


def _in_order(table: pa.Table) -> pa.Table:
    columns = []
    for column in table.columns:
        flat = column.combine_chunks()
        if pa.types.is_floating(flat.type):  # as bits: NaN is NaN, and 0.0 is not -0.0
            bits = flat.to_numpy(zero_copy_only=False).astype(np.float64).view(np.int64)
            flat = pa.array(bits, mask=np.asarray(flat.is_null()))
        elif pa.types.is_nested(flat.type) or pa.types.is_dictionary(flat.type):
            flat = pa.array([repr(each) for each in flat.to_pylist()])
        columns.append(flat)
    plain = pa.table(columns, names=table.column_names)
    return plain.sort_by([(name, "ascending") for name in plain.column_names])


def differences(before: Path, after: Path, what: str) -> list[str]:
    """A sentence for each table of two outputs that is not the same, with the rows that only one of them has."""
    of, other = tables_of(before), tables_of(after)
    sentences = [f"{what}: only one has {sorted(of.keys() ^ other.keys())}"] if of.keys() != other.keys() else []
    if not of:
        sentences.append(f"{what}: no table was written")
    for name in sorted(of.keys() & other.keys()):
        if of[name].schema != other[name].schema:
            columns = set(map(str, of[name].schema)) ^ set(map(str, other[name].schema))
            sentences.append(f"{what}: {name} has other columns ({', '.join(sorted(columns))})")
        elif not of[name].equals(other[name]):
            rows, rows_after = map(_counted, (of[name], other[name]))
            counts = [each.total() for each in (rows & rows_after, rows - rows_after, rows_after - rows)]
            sentences.append(
                "{}: {} differs: {} rows in both, {} only before, {} only after".format(what, name, *counts)
            )
    return sentences


def _counted(table: pa.Table) -> Counter[tuple[object, ...]]:
    return Counter(zip(*table.to_pydict().values(), strict=True))


def main() -> None:
    """Compare the checkouts that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--lanes", nargs="+", choices=LANES, default=LANES)
    parser.add_argument("--specs", nargs="+", help="names of some specs: all of them without it")
    parser.add_argument("--keep", type=Path, help="an empty folder for inputs and tables, which stay there")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (asked.keep or Path(temporary)).resolve()
        specs = write_inputs(folder / "inputs")
        sentences: list[str] = []
        compared = 0
        for name in asked.specs or specs:
            for lane in asked.lanes:
                for native in (True, False):
                    what = f"{name}, lane {lane}, {'compiled loops' if native else 'numpy'}"
                    outputs = []
                    for tree in (asked.before.resolve(), asked.after.resolve()):
                        output = folder / "tables" / tree.name / f"{name}-{lane}-{native}"
                        for day in DAYS if lane == "local" else DAYS[:1]:
                            run(tree, "evaluate", specs[name], output, lane, native, "--date", day)
                        if lane == "local":
                            run(tree, "merge", specs[name], output, lane, native, "--from", DAYS[0], "--to", DAYS[-1])
                        outputs.append(output)
                    found = differences(*outputs, what)
                    sentences += found
                    compared += len(tables_of(outputs[0]))
                    print(what, "differs" if found else "same bits", flush=True)
            if "local" in asked.lanes:  # what was stored before still merges
                stored = folder / "tables" / asked.before.resolve().name / f"{name}-local-True"
                merged = tables_of(stored)
                run(
                    asked.after.resolve(),
                    "merge",
                    specs[name],
                    stored,
                    "local",
                    True,
                    "--from",
                    DAYS[0],
                    "--to",
                    DAYS[-1],
                )
                again = tables_of(stored)
                sentences += [
                    f"{name}: {table} merged anew differs" for table in merged if not merged[table].equals(again[table])
                ]
    for sentence in sentences:
        print(sentence)
    print(f"{compared} tables compared, {len(sentences)} differ")
    sys.exit(bool(sentences))


if __name__ == "__main__":
    main()
