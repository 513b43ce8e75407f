"""The command line, which ``jobs/`` calls too: evaluate, merge, compare, judge and accept days.

Exit codes: 0 done; 2 the spec or the arguments are wrong, nothing was read; 3 a gate failed, the tables are written; 4
the input is unusable, nothing was written; 5 no gate failed, but one is undecided whose policy is ``undecided: fail``,
the tables are written; 1 anything else. An error is one sentence, the last line on stderr; ``--debug`` adds the
traceback. Every command takes ``--json`` and ``--quiet`` (:mod:`sparkrank.cli.answers`).
"""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import click
import yaml

from sparkrank import native
from sparkrank._version import __version__
from sparkrank.base.errors import MOST_SENTENCE, SparkrankError, SpecError, did_you_mean, escape, itemize, shorten
from sparkrank.base.redaction import shown_url
from sparkrank.cli.answers import (
    answer,
    answer_line,
    answer_page,
    backfill_document,
    day_document,
    declaration_document,
    judgment_document,
    preset_document,
    table_document,
    window_document,
)
from sparkrank.cli.backfill_text import backfill_text, backfilled_text
from sparkrank.cli.compare import compare
from sparkrank.cli.explain import explain
from sparkrank.cli.movers import movers
from sparkrank.cli.options import PLUGIN, REMOVED_OPTIONS, VERBOSE, asked_stages, day_option, form_options, spec_options
from sparkrank.cli.output import clean, export, path, unlock
from sparkrank.cli.planning import plan
from sparkrank.cli.report import report
from sparkrank.cli.starting import init, schema
from sparkrank.cli.stored import NamedDays, stored_options
from sparkrank.config import Spec
from sparkrank.engines.crew import are_left
from sparkrank.engines.lanes import needs_session
from sparkrank.engines.spark.failures import reason_of
from sparkrank.gates.chance import records_of
from sparkrank.gates.day_verdict import DayVerdict
from sparkrank.gates.judgment import Judgment
from sparkrank.inputs.window import Window, spans
from sparkrank.jobs.backfill import backfill, worst_code
from sparkrank.jobs.evaluate_job import evaluate_day
from sparkrank.jobs.gate_job import VerdictPatterns, accept_stored, gate_stored, replay_days, replayed_window
from sparkrank.jobs.interrupts import Interrupts
from sparkrank.jobs.merge_job import merge_days
from sparkrank.metrics import CATALOG, Metric, find_preset
from sparkrank.metrics.metric import Declaration
from sparkrank.metrics.registry import import_plugins
from sparkrank.report.changes import changes_text
from sparkrank.results.run_results import BackfilledDay, DayResult, WindowResult
from sparkrank.run.day_request import places_of, resolve_day
from sparkrank.run.session import STARTED_BY_JAVA, command_session
from sparkrank.tables.commit.days import needs_spark
from sparkrank.tables.rows.outputs import OUTPUTS
from sparkrank.text.comparison_text import stored_comparisons_text
from sparkrank.text.gates_text import replay_text, verdicts_text
from sparkrank.text.terminal import as_json_text, print_document, tell
from sparkrank.text.text import (
    MOST_LINES,
    declaration_text,
    fitted,
    metrics_text,
    preset_text,
    quality_text,
    table_text,
    warnings_text,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECONDS_FOR_JAVA = 0.5  # Java does not say when it has read


def run(arguments: Sequence[str] | None = None) -> None:
    """Run :func:`main` and end the process with it. Once a day is shown, no signal can make the job fail."""
    try:
        main(arguments, ends_process=True)
    except SystemExit as ended:
        if ended.code:
            _let_java_read()
        raise


def _let_java_read() -> None:
    """Wait for spark-submit to read the output: it ends as soon as its Python fails, and drops what it has not read."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # None if whoever started this process has closed it
            with suppress(OSError):
                stream.flush()
    if STARTED_BY_JAVA in os.environ:
        time.sleep(SECONDS_FOR_JAVA)


def main(arguments: Sequence[str] | None = None, *, ends_process: bool = False) -> None:
    """Run the command that ``arguments`` name (None: those of the process), and exit with its code.

    Unless it ``ends_process``, the process handles signals afterwards as it did before.
    """
    invocation = Invocation()
    words = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name that the terminal cannot print must not fail the run
            stream.reconfigure(errors="replace")
    try:
        with _interruptible(ends_process):
            commands.main(args=words, prog_name="sparkrank", standalone_mode=False, obj=invocation)
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        usage = "" if context is None else f"{context.get_usage()}\n"
        sentence = REMOVED_OPTIONS.get(getattr(error, "option_name", "")) or shorten(error.format_message())
        _answer_error(words, invocation, "usage", SpecError.exit_code, sentence, usage)
        sys.exit(SpecError.exit_code)
    except click.exceptions.Exit as ended:  # --help and --version end like this
        sys.exit(ended.exit_code)
    except click.Abort:  # an interrupt from the keyboard or by a scheduler
        _answer_error(words, invocation, "interrupted", 1, "interrupted")
        _end_with(1, ends_process)
    except Exception as error:  # noqa: BLE001 - nothing above would make a sentence of it
        _end_with(_explain(error, words, invocation), ends_process)
    finally:
        if not ends_process:
            invocation.interrupts.release()


@dataclass
class Invocation:
    """One call of the command line: its signals, and the document of what was done before an error."""

    interrupts: Interrupts = field(default_factory=Interrupts)
    done: dict[str, object] = field(default_factory=dict)


def _end_with(code: int, ends_process: bool) -> None:
    """Exit. If the process ends here and threads still hang in a library, exit at once."""
    if ends_process and are_left():
        _let_java_read()
        os._exit(code)
    sys.exit(code)


@contextmanager
def _interruptible(ends_process: bool) -> Iterator[None]:
    """Treat SIGTERM, by which schedulers stop a job, as an interrupt from the keyboard, so that nothing is left behind.

    An error that an interrupt has caused, such as Spark's about a cancelled job, is raised as that interrupt.
    """
    in_main = threading.current_thread() is threading.main_thread()  # no other thread may set handlers
    before = signal.signal(signal.SIGTERM, signal.default_int_handler) if in_main else None
    try:
        yield
    except Exception as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, KeyboardInterrupt):
            cause = cause.__cause__ or cause.__context__
        if cause is not None:
            raise click.Abort from error
        raise
    finally:
        if in_main and not ends_process:
            signal.signal(signal.SIGTERM, before)


def _answer_error(
    words: Sequence[str], invocation: Invocation, code: str, exit_code: int, sentence: str, before: str = ""
) -> None:
    """Print an error on stderr after the lines ``before``, and with ``--json`` also as a document on stdout.

    spark-submit prints the stderr of its Python on its own stdout: there the document is printed alone.
    """
    if "--json" in words:  # a usage error may come before the option is read
        error = {"code": code, "exit_code": exit_code, "sentence": sentence}
        with suppress(OSError):  # where stdout is what fails, stderr still has the sentence
            print_document(as_json_text({"error": error, **invocation.done}))
            if STARTED_BY_JAVA in os.environ:
                return
    tell(f"{before}sparkrank: {sentence}", err=True)


def _explain(error: Exception, words: Sequence[str], invocation: Invocation) -> int:
    text, code, exit_code = f"{reason_of(error)} (--debug shows where)", "unexpected", 1
    if isinstance(error, SparkrankError):
        text, code, exit_code = str(error), error.code, error.exit_code
    before = ""
    if "--debug" in words:
        lines = "".join(traceback.format_exception(error)).rstrip().split("\n")
        before = "".join(f"| {line}\n" for line in lines)  # a message may have lines that look like ours
    _answer_error(words, invocation, code, exit_code, shorten(text, MOST_SENTENCE), before)
    return exit_code


@click.group()
@click.version_option(
    __version__,
    prog_name="sparkrank",
    message=f"%(prog)s, version %(version)s, loops {'compiled' if native.COMPILED else 'in numpy'}",
)
def commands() -> None:
    """Offline evaluation of recommenders, search and ads, on Spark."""


@commands.command()
@spec_options
@day_option("--date", "day", "The day to evaluate; without it, the spec's day.")
@day_option("--from", "first", "The first of many days to evaluate, in order.")
@day_option("--to", "last", "The last of them.")
@click.option("--again", is_flag=True, help="Of many days, evaluate also those that are there by the same spec.")
@click.option("--allow-missing", is_flag=True, help="Of many days, pass over those without input, and list them.")
@VERBOSE
@click.pass_obj
def evaluate(
    invocation: Invocation,
    /,
    spec: Spec,
    day: str | None,
    first: str | None,
    last: str | None,
    is_whole: bool,
    **of_many: bool,
) -> None:
    """Evaluate a day of impressions, or many in one session, and replace each in the tables."""
    window = _window(day, first, last, of_many)
    if window is None:
        day = resolve_day(spec, day)  # before Spark starts, which takes seconds
    with command_session("evaluate", is_needed=needs_session(spec.engine.lane)) as spark:
        invocation.interrupts.spark = spark
        if window is not None:
            _backfill(spec, window, spark, invocation, is_whole, **of_many)
            return
        result = evaluate_day(spec, day, spark, asked_stages(), invocation.interrupts.hold)
    below = [f"Lane: {result.lane} ({escape(result.lane_reason)})"]
    below += [] if result.changes is None else [changes_text(result.changes)]
    answer(lambda: _shown(result.day, result.day, spec, result, below, is_whole), lambda: day_document(result))
    _end(result.judgment)


def _window(day: str | None, first: str | None, last: str | None, flags: Mapping[str, bool]) -> Window | None:
    if first is None and last is None:
        for flag in (flag for flag, is_given in flags.items() if is_given):
            raise click.UsageError(f"--{flag.replace('_', '-')} is for many days: name them with --from and --to")
        return None
    if day is not None:
        raise click.UsageError(f"--date and {'--to' if first is None else '--from'} do not go together")
    if first is None or last is None:
        lacking, given = ("--from", "--to") if first is None else ("--to", "--from")
        raise click.UsageError(f"{given} needs {lacking}: many days have a first and a last")
    return Window.of(first, last)


def _backfill(
    spec: Spec, window: Window, spark: SparkSession | None, invocation: Invocation, is_whole: bool, **flags: bool
) -> None:
    """Evaluate the days of ``window``, with a line for each as soon as it is done."""
    done: list[BackfilledDay] = []
    hold = invocation.interrupts.hold
    try:
        for evaluated in backfill(spec, window, spark, **flags, before_commit=hold, stages=asked_stages):
            invocation.interrupts.release()
            answer_line(partial(backfilled_text, evaluated, is_whole=is_whole))
            done.append(evaluated)
    except BaseException:
        invocation.done = backfill_document(done)
        if done and len(done) < window.count:
            stopped = window.days[len(done)]
            answer_line(lambda: f"Stopped at {stopped}: the days before it stay, and the same command resumes")
        raise
    code = worst_code(done)
    answer(lambda: f"\n{backfill_text(done)}", lambda: {"exit_code": code, **backfill_document(done)})
    if code:
        sys.exit(code)


@commands.command()
@spec_options
@day_option("--from", "first", "The first day of the window.", required=True)
@day_option("--to", "last", "The last day of the window.", required=True)
@click.option("--allow-missing", is_flag=True, help="Merge the days that are there, and list the others in runs.")
@VERBOSE
@click.pass_obj
def merge(invocation: Invocation, spec: Spec, first: str, last: str, allow_missing: bool, is_whole: bool) -> None:
    """Evaluate a window of days from their stored states, and replace the window in the tables."""
    window = Window.of(first, last)
    with command_session("merge", is_needed=needs_spark(spec.output.path)) as spark:
        invocation.interrupts.spark = spark
        hold = invocation.interrupts.hold
        result = merge_days(spec, window, spark, asked_stages(), allow_missing=allow_missing, before_commit=hold)
    what = f"{window}, {len(result.days)} days pooled"
    below = [f"Missing: {spans(result.missing)}"] if result.missing else []
    answer(lambda: _shown(str(window), what, spec, result, below, is_whole), lambda: window_document(result))
    _end(result.judgment)


def _end(judgment: Judgment | None) -> None:
    if judgment is not None and judgment.exit_code:
        sys.exit(judgment.exit_code)


def _shown(
    name: str, what: str, spec: Spec, result: DayResult | WindowResult, below: Sequence[str], is_whole: bool
) -> str:
    head = f"Metrics of {what} (± {spec.uncertainty.level * 100:g} % interval)"
    compared = "" if result.comparisons is None else stored_comparisons_text(result.comparisons)
    verdicts = "" if result.judgment is None else verdicts_text(result.judgment.judged, is_whole=is_whole)
    longest = max(map(len, result.folders))
    folders = [
        f"  {name:<{longest}}  {escape(shown_url(str(folder)))}" for name, folder in sorted(result.folders.items())
    ]
    stages = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in result.seconds.items())
    verdict = _verdict_line(name, spec, result.verdict)
    parts = [
        f"{head}\n\n{metrics_text(result.metrics)}",
        compared,
        quality_text(result.quality),
        warnings_text(result.warnings),
        verdicts,
        "\n".join(["Tables", *folders]),
        "\n".join(filter(None, [f"Stages: {stages}", *below, verdict])),
    ]
    return f"\n{fitted([verdict, *parts], sys.maxsize if is_whole else MOST_LINES)}"


def _verdict_line(name: str, spec: Spec, verdict: DayVerdict) -> str:
    """The line that a person reads first and last."""
    owner = "" if spec.owner is None else f" Owner: {spec.owner}."
    return escape(f"{verdict.title(spec.name, name)}: {verdict.sentence}{owner}")


@commands.command()
@spec_options
@stored_options
@click.option("--replay", metavar="90d", help="On which of so many nights, up to --date, a gate would have stopped.")
@VERBOSE
def gate(spec: Spec, named: NamedDays, replay: str | None, is_whole: bool) -> None:
    """Judge a stored day, or a stored window, by the gates of the spec, without Spark; nothing is written."""
    if replay is not None:
        if named.first is not None or named.last is not None:
            raise click.UsageError("--replay and --from do not go together: --replay goes back from --date")
        window = replayed_window(spec, replay, named.day)
        nights = replay_days(spec, window)
        records = records_of(nights)
        first, last, count = str(window.first), str(window.last), len(nights)
        counts = {"first": first, "last": last, "nights": count, "days": window.count}
        answer(
            lambda: replay_text(first, last, count, window.count, records),
            lambda: {**counts, "gates": list(map(asdict, records))},
        )
        return
    judgment = gate_stored(spec, named.target(spec))
    _answer_verdicts(judgment, spec, is_whole)
    _end(judgment)


def _answer_verdicts(judgment: Judgment, spec: Spec, is_whole: bool) -> None:
    def text() -> str:
        line = _verdict_line(judgment.name, spec, judgment.verdict())
        verdicts = verdicts_text(judgment.judged, line, is_whole=is_whole)
        return f"{verdicts if is_whole else fitted([verdicts], MOST_LINES - 1)}\n{line}"

    answer(text, lambda: judgment_document(judgment))


@commands.command()
@spec_options
@stored_options
@click.option("--reason", required=True, metavar="TEXT", help="Why; it stands in the tables.")
@click.option("--gate", metavar="PATTERN", help="Only the verdicts of the gates with this name.")
@click.option("--metric", metavar="PATTERN", help="Only those about this metric.")
@click.option("--model", metavar="PATTERN", help="Only those about this model.")
@click.option("--slice", metavar="COLUMN=VALUE", help="Only those about this slice value, or all.")
@click.option("--from-now-on", is_flag=True, help="A change that is wanted: histories begin anew with the day.")
@VERBOSE
def accept(
    spec: Spec, named: NamedDays, reason: str, from_now_on: bool, is_whole: bool, **patterns: str | None
) -> None:
    """Let a stored day in although a gate stops it: it may be a standard for the days after it."""
    target = named.target(spec)
    with command_session("accept", is_needed=needs_spark(spec.output.path)) as spark:
        choice = VerdictPatterns(**patterns)
        judgment = accept_stored(spec, target, reason, spark, choice, from_now_on=from_now_on)
    _answer_verdicts(judgment, spec, is_whole)


@commands.command()
@spec_options
@day_option("--date", "day", "Print what is read and written for this day, too.")
def validate(spec: Spec, day: str | None) -> None:
    """Check a spec without reading any input, and print it with every default written out."""
    places = [] if day is None and spec.day is None else places_of(spec, resolve_day(spec, day))
    answer_page(
        lambda: yaml.safe_dump(spec.resolved(), sort_keys=False), lambda: {"spec": spec.resolved(), "places": places}
    )
    for place in places:  # as comments, so that the output is still a spec
        answer_line(partial("# {}".format, place))


@commands.command()
@click.argument("names", nargs=-1)
@click.option("--preset", metavar="LIBRARY", help="Print what the preset of this name sets, and what it cannot.")
@PLUGIN
def metrics(names: tuple[str, ...], preset: str | None, plugins: tuple[str, ...]) -> None:
    """Print every metric, or those NAMED: definition, parameters, undefined rule, reference."""
    import_plugins(plugins, "--plugin")
    library = find_preset(preset)
    if library is not None:
        if names:
            raise click.UsageError("--preset and NAMES do not go together")
        answer_page(lambda: preset_text(library), lambda: {"preset": preset_document(library)})
        return
    declarations = [declaration for name in names for declaration in _named(name)] if names else list(CATALOG.values())
    answer_page(
        lambda: "\n\n".join(map(declaration_text, declarations)),
        lambda: {"metrics": list(map(declaration_document, declarations))},
    )


@commands.command()
@click.argument("names", nargs=-1)
def tables(names: tuple[str, ...]) -> None:
    """Print every table that a run writes, or those NAMED: columns, types and meaning (docs/tables.md)."""
    known = {output.schema.name: output.schema for output in OUTPUTS}
    for name in names:
        if name not in known:
            near = did_you_mean(name, known)
            raise click.UsageError(f'there is no table "{shorten(name)}"{near} (there are: {itemize(known)})')
    asked = [known[name] for name in names] or list(known.values())
    answer_page(lambda: "\n\n".join(map(table_text, asked)), lambda: {"tables": list(map(table_document, asked))})


for _command in (compare, explain, movers, report, plan, path, export, clean, unlock, init, schema):
    commands.add_command(_command)
for _command in commands.commands.values():
    _command.params += form_options()


def _named(name: str) -> list[Declaration]:
    """The metrics that ``name``, or a text such as ``ndcg@10``, means with a cut-off and without."""
    if not CATALOG.is_known(name):  # the parser's error says what is wrong
        return [Metric.parse(name).declaration]
    meant = (CATALOG.get(name.lower()), CATALOG.find(name, True, name))
    return list({declaration.name: declaration for declaration in meant if declaration is not None}.values())
