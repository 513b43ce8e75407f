"""The one family of errors: each says in a sentence what is wrong, where, and what is allowed.

The exit codes are those of the command line: 2 the request is wrong (nothing was read), 4 the input is unusable
(nothing was written), 1 anything else.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

# What Arrow says of a store, S3-compatible or Google's, that fails, be it for a moment. That it refuses somebody, or
# has no such bucket, is no failure of its own.
_STORE_FAILS = re.compile(
    r"AWS Error (?:INTERNAL_FAILURE|NETWORK_CONNECTION|REQUEST_TIMEOUT|SERVICE_UNAVAILABLE|SLOW_DOWN|THROTTLING|"
    r"UNKNOWN \(HTTP status 5\d\d\))"
    r"|google::cloud::Status\((?:ABORTED|DEADLINE_EXCEEDED|INTERNAL|RESOURCE_EXHAUSTED|UNAVAILABLE)\b"
)


class SparkrankError(Exception):
    """Anything sparkrank refuses, with the sentence a person reads."""

    exit_code = 1


class SpecError(SparkrankError):
    """What was asked for is wrong: a key, a value, a combination. Nothing has been read yet."""

    exit_code = 2


class FrameLaneNeededError(SpecError):
    """An input that the scan lane and the local lane leave to the frame lane, with the reason."""


class MetricError(SpecError):
    """A metric text that does not name a declared metric with allowed parameters."""


class InputError(SparkrankError):
    """The input cannot be evaluated: missing, of the wrong schema, or too many unusable rows."""

    exit_code = 4


class StoreError(SparkrankError):
    """A store of files, or the way to it, fails: what it was asked for it may give an hour later."""


class StateError(SparkrankError):
    """Two states that cannot be merged, or stored states that are not those asked for."""

    exit_code = 4


def did_you_mean(value: object, known: Iterable[object]) -> str:
    """``, did you mean "x"?`` for the nearest of ``known``, or nothing when none is near."""
    near = difflib.get_close_matches(str(value), list(map(str, known)), n=1, cutoff=0.5)
    return f', did you mean "{near[0]}"?' if near else ""


def listed(names: Iterable[object]) -> str:
    """The allowed names of a sentence: ``a, b, c``."""
    return ", ".join(map(str, names))


@contextmanager
def told_by_writing(what: str, done: str = "written") -> Iterator[None]:
    """Raise an error of the operating system, as a full disk, as one that says what cannot be ``done`` to ``what``."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else first_line(error)
        raise SparkrankError(f"{what} cannot be {done}: {reason}") from error


def unreadable(what: str, error: BaseException, advice: str = "") -> InputError | StoreError:
    """The error that says ``what`` because of ``error``, and gives ``advice`` unless it is the store that fails."""
    told = f"{what}: {first_line(error)}"
    return StoreError(told) if _STORE_FAILS.search(str(error)) else InputError(told + advice)


def first_line(error: BaseException) -> str:
    """What ``error`` says, without the lines that libraries put below it."""
    return str(error).split("\n", maxsplit=1)[0].rstrip(".")
