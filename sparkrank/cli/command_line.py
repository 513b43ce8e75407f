"""The command line, by which a user evaluates, merges, compares, judges and accepts days. ``jobs/`` calls it too.

The exit code is 0 for success; 2 if the spec or the arguments are wrong (no input was read); 3 if a gate failed (the
tables are written); 4 if the input is unusable (no table was written); 5 if no gate failed, but a gate with
``undecided: fail`` is undecided (the tables are written); and 1 for any other error. The last line on stderr is the
error in one sentence; ``--debug`` adds the traceback. Every command has the options ``--json`` and ``--quiet``.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module

import click

from sparkrank._version import __version__
from sparkrank.base.errors import MOST_LISTED, MOST_SENTENCE, SparkrankError, SpecError, shorten
from sparkrank.base.redaction import redact
from sparkrank.cli.invocation import Invocation
from sparkrank.engines.crew import are_left
from sparkrank.engines.spark.failures import reason_of
from sparkrank.text.terminal import STARTED_BY_JAVA, as_json_text, print_document, tell

SECONDS_FOR_JAVA = 0.5  # Java does not say when it has read


def run(arguments: Sequence[str] | None = None) -> None:
    """Run :func:`main` and end the process. Signals are ignored from a commit on, so that the job succeeds."""
    try:
        main(arguments, ends_process=True)
    except SystemExit as ended:
        if ended.code:
            _let_java_read()
        raise


def _let_java_read() -> None:
    """Give spark-submit time to read the output. When Python fails, spark-submit exits and drops unread output."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # None if the parent process has closed it
            with suppress(OSError):
                stream.flush()
    if STARTED_BY_JAVA in os.environ:
        time.sleep(SECONDS_FOR_JAVA)


def main(arguments: Sequence[str] | None = None, *, ends_process: bool = False) -> None:
    """Run the command in ``arguments`` (None: ``sys.argv[1:]``), and exit with the command's exit code.

    Unless ``ends_process`` is set, signal handlers are restored afterwards.
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
        from sparkrank.cli.options import REMOVED_OPTIONS

        context = getattr(error, "ctx", None)
        usage = "" if context is None else f"{context.get_usage()}\n"
        sentence = REMOVED_OPTIONS.get(getattr(error, "option_name", "")) or shorten(
            error.format_message(), MOST_LISTED
        )
        _answer_error(words, invocation, "usage", SpecError.exit_code, sentence, usage)
        sys.exit(SpecError.exit_code)
    except click.exceptions.Exit as ended:  # --help and --version end like this
        sys.exit(ended.exit_code)
    except click.Abort:  # an interrupt from the keyboard or by a scheduler
        _answer_error(words, invocation, "interrupted", 1, "interrupted")
        _end_with(1, ends_process)
    except Exception as error:  # noqa: BLE001 - no caller would print it in one sentence
        _end_with(_explain(error, words, invocation), ends_process)
    finally:
        if not ends_process:
            invocation.interrupts.release()


def _end_with(code: int, ends_process: bool) -> None:
    """Exit with ``code``. If the process ends and threads still hang in a library, exit without waiting for them."""
    if ends_process and are_left():
        _let_java_read()
        os._exit(code)
    sys.exit(code)


@contextmanager
def _interruptible(ends_process: bool) -> Iterator[None]:
    """Treat SIGTERM, which schedulers send to stop a job, as a keyboard interrupt, so that the job cleans up.

    An error with an interrupt as its cause, such as Spark's error about a cancelled job, is raised as ``click.Abort``.
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
    """Print ``sentence`` on stderr after the lines ``before``, and with ``--json`` also as a document on stdout.

    Under spark-submit, which copies the stderr of Python to its own stdout, ``--json`` prints only the document.
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
        lines = redact("".join(traceback.format_exception(error))).rstrip().split("\n")  # some secrets are in two lines
        before = "".join(f"| {line}\n" for line in lines)  # a message may have lines that look like ours
    _answer_error(words, invocation, code, exit_code, shorten(text, MOST_SENTENCE), before)
    return exit_code


def _print_version(context: click.Context, option: click.Parameter, is_given: bool) -> None:  # noqa: ARG001
    if is_given:
        from sparkrank import native  # slow to import

        loops = "compiled" if native.COMPILED else "in numpy"
        tell(f"sparkrank, version {__version__}, loops {loops}")
        context.exit()


# The module and the summary of each command. A module is imported when its command is called: most are slow to import.
COMMANDS = {
    "accept": ("sparkrank.cli.gate_commands", "Accept a stored day although a gate stops it."),
    "clean": ("sparkrank.cli.output", "Remove earlier runs of days, and files left by killed runs."),
    "compare": ("sparkrank.cli.compare", "Compare the models of stored days (--conf), or two runs."),
    "demo": ("sparkrank.cli.demo", "Write a made-up log and its spec, evaluate two models, and say what to look at."),
    "evaluate": ("sparkrank.cli.evaluation_commands", "Evaluate a day of impressions, or many in one session."),
    "explain": ("sparkrank.cli.explain", "Explain how METRICS are computed from one group's rows."),
    "export": ("sparkrank.cli.output", "Copy stored days (by default, all) to real folders below FOLDER."),
    "gate": ("sparkrank.cli.gate_commands", "Judge a stored day or window by the gates of the spec."),
    "init": ("sparkrank.cli.spec_commands", "Write a commented spec to FILE (sparkrank.yaml)."),
    "merge": ("sparkrank.cli.evaluation_commands", "Evaluate a window of days from their stored states."),
    "metrics": ("sparkrank.cli.register_commands", "Print every metric, or those NAMED."),
    "movers": ("sparkrank.cli.movers", "Print the groups that changed most, gains and losses apart."),
    "path": ("sparkrank.cli.output", "Print the folder of a day's or window's current run."),
    "plan": ("sparkrank.cli.plan_command", "Count the splits, buckets, tasks and pieces of a day."),
    "publish": ("sparkrank.cli.publish_command", "Publish a stored day, or many, where output.publish says."),
    "report": ("sparkrank.cli.report", "Make the report of a stored day or window."),
    "schema": ("sparkrank.cli.spec_commands", "Print the JSON Schema of a spec."),
    "tables": ("sparkrank.cli.register_commands", "Print every table that a run writes, or those NAMED."),
    "unlock": ("sparkrank.cli.output", "Let the next run of a day begin."),
    "validate": ("sparkrank.cli.spec_commands", "Check a spec without reading any rows."),
}


class LazyCommands(click.Group):
    """A click group with only the summaries of its commands. A call of a command imports the command."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, None if command is None else full_command(str(command.name)), rest


@cache
def full_command(name: str) -> click.Command:
    """Return the command ``name``, imported, with the options common to all commands."""
    from sparkrank.cli.options import form_options

    command: click.Command = getattr(import_module(COMMANDS[name][0]), name)
    command.params += form_options()
    return command


@click.group(cls=LazyCommands, commands=[click.Command(name, help=about) for name, (_, about) in COMMANDS.items()])
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version.",
)
def commands() -> None:
    """Offline evaluation of recommenders, search and ads, on Spark."""
