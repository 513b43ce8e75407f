"""The command ``sparkrank demo``: the evaluation of a made-up log in a folder of its own."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from importlib import resources
from pathlib import Path

import click
import yaml

from sparkrank.base.errors import SpecError, shorten, writing_errors
from sparkrank.cli.answers import answer_line
from sparkrank.cli.evaluation_commands import evaluate
from sparkrank.cli.options import DEBUG
from sparkrank.engines.spark.session_features import has_pyspark
from sparkrank.jobs.demo_log import LEAST_ROWS, MOST_ROWS, ROWS_PER_USER, write_log
from sparkrank.report.page import lacking_extra

DAY = "2026-01-31"
_SPEC = "demo.yaml"  # in the package sparkrank.config, and in the folder of the demo


def _whole(context: click.Context, option: click.Parameter, value: str) -> int:  # noqa: ARG001
    try:
        rows = float(value)
    except ValueError:
        rows = 0.0
    if not (rows.is_integer() and LEAST_ROWS <= rows <= MOST_ROWS):
        raise click.BadParameter(f"{shorten(value)} is not a whole number from {LEAST_ROWS:,} to {MOST_ROWS:,}")
    return int(rows)


@click.command()
@DEBUG
@click.option("--folder", default="sparkrank-demo", show_default=True, help="A new folder for all that is written.")
@click.option("--rows", callback=_whole, default="1e5", show_default=True, help="Impressions; 20e6 shows the speed.")
@click.pass_context
def demo(context: click.Context, folder: str, rows: int) -> None:
    """Write a made-up log and its spec, evaluate two models, and say what to look at."""
    _validate(folder)
    answer_line(lambda: f"Making {rows:,} impressions of {rows // ROWS_PER_USER:,} users")
    try:
        write_log(Path(folder, "impressions", f"dt={DAY}"), rows)
        spec = Path(folder, _SPEC)
        with writing_errors(f"the spec {shorten(str(spec))}"):
            spec.write_text(_spec_of(folder), encoding="utf-8")
        context.invoke(evaluate, conf=str(spec), overrides=(), day=DAY)
    except (Exception, KeyboardInterrupt):
        shutil.rmtree(folder, ignore_errors=True)  # the next demo may have the same folder
        raise
    answer_line(lambda: f"\n{_what_to_look_at(folder, spec)}")


def _validate(folder: str) -> None:
    """Raise :class:`SpecError` if ``folder`` is not empty, or if a path of a spec would mean something else by it."""
    if re.search(r"[{}*?\[\]\x00-\x1f]|^~|^\w+:/", folder):
        raise SpecError(
            f"--folder is {shorten(folder)}: name a local folder without {{ }} [ ] * ? and without ~ in front"
        )
    place = Path(folder)
    if os.path.lexists(place) and not (place.is_dir() and not any(place.iterdir())):
        raise SpecError(f"{shorten(folder)} exists already: name another folder with --folder, or remove this one")


def _spec_of(folder: str) -> str:
    text = resources.files("sparkrank.config").joinpath(_SPEC).read_text(encoding="utf-8")
    places = {key: yaml.safe_load(text)[key]["path"] for key in ("input", "output")}
    for place in places.values():
        text = text.replace(place, yaml.safe_dump(place.replace("<folder>", folder), width=10**6).split("\n")[0])
    return text.replace("<report>", str(not lacking_extra()).lower()).replace("<lane>", _lane())


def _lane() -> str:
    """Return ``auto`` where Spark can start: with pyspark and a Java."""
    home = os.environ.get("JAVA_HOME")
    has_java = shutil.which("java" if home is None else f"{home}/bin/java") is not None
    return "auto" if has_pyspark() and has_java else "local"


def _what_to_look_at(folder: str, spec: Path) -> str:
    of_day = f"--conf {shlex.quote(str(spec))} --date {DAY}"
    pages = sorted(Path(folder, "tables", "report", f"day={DAY}").glob("*.html"))
    lines = [
        ("the spec", str(spec)),
        *(("the report, for your browser", str(page)) for page in pages),
        ("why the gates say so", f"sparkrank gate {of_day}"),
        ("is the candidate better, for whom", f"sparkrank compare {of_day} --metric ndcg@10"),
        ("who gained and lost", f"sparkrank movers {of_day} --baseline production --metric ndcg@10"),
        ("the worst lists, row by row", f"sparkrank explain {of_day} --metric ndcg@10 --model candidate --worst 2"),
    ]
    if not pages:
        lines.insert(1, ("to get the report, a page", f"pip install 'sparkrank[report]' && sparkrank report {of_day}"))
    longest = max(len(what) for what, _ in lines)
    return "\n".join(["Look at", *(f"  {what:<{longest}}  {where}" for what, where in lines)])
