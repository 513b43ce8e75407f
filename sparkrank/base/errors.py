"""The errors that sparkrank raises. Each message is one sentence: what is wrong, where, and what is allowed.

The command line exits with code 2 if the request is wrong (nothing was read), 4 if the input is unusable (nothing was
written), and 1 for anything else.
"""

from __future__ import annotations

import difflib
import importlib.util
import os
import re
import reprlib
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from typing import Any, TypeVar

from sparkrank.base.byte_texts import text_of_bytes
from sparkrank.base.redaction import redact

# Messages of Arrow if a file store (S3-compatible or Google's) fails, even if only for a moment. A denied request or a
# missing bucket is not a failure of the store.
_STORE_FAILS = re.compile(
    r"AWS Error (?:INTERNAL_FAILURE|NETWORK_CONNECTION|REQUEST_TIMEOUT|SERVICE_UNAVAILABLE|SLOW_DOWN|THROTTLING|"
    r"UNKNOWN \(HTTP status 5\d\d\))"
    r"|ExpiredToken|REQUEST_EXPIRED|TokenRefreshRequired|RequestTimeTooSkewed|curlCode: 28\b"
    # the answer to an expired token for requests whose answers have no body
    r"|HTTP status 400\) during HeadObject operation: No response body"
    r"|google::cloud::Status\((?:ABORTED|DEADLINE_EXCEEDED|INTERNAL|RESOURCE_EXHAUSTED|UNAVAILABLE)\b"
)

# The text that Arrow appends to the message of a Python exception that was raised inside a call of Arrow.
_DETAIL = re.compile(r"\.? Detail: Python exception: ")

# The most characters of one value in a message, of a list of names, and of a whole message.
MOST_SHOWN, MOST_LISTED, MOST_SENTENCE = 200, 600, 1500
_MOST_CLEANED = 16_000  # characters that are searched for secrets; the middle of a longer text is never shown anyway


TRACEBACK = "SPARKRANK_TRACEBACK"  # if this environment variable is 1, errors keep the full traceback

F = TypeVar("F", bound=Callable[..., Any])


class _Few(reprlib.Repr):
    """A ``repr`` that removes secrets before it shortens values, because half a secret might not be recognized."""

    def repr_str(self, x: str, level: int) -> str:  # noqa: ARG002 - as the class above has it
        return repr(_cut(redact(_cut(x, _MOST_CLEANED)), self.maxstring))


_FEW = _Few()
_FEW.maxlevel, _FEW.maxstring, _FEW.maxother, _FEW.maxlong = 3, MOST_SHOWN, MOST_SHOWN, MOST_SHOWN
_FEW.maxlist = _FEW.maxtuple = _FEW.maxdict = _FEW.maxset = _FEW.maxfrozenset = 12


class SparkrankError(Exception):
    """The base class of all errors that sparkrank raises on purpose. The message is one sentence on one line.

    Parameters
    ----------
    sentence : object
        The message: what is wrong, where, and what is allowed. Long values are shortened, control characters are
        escaped, and secrets are left out (:mod:`sparkrank.base.redaction`).

    Attributes
    ----------
    exit_code : int
        The exit code of the command line: 2 for a wrong request, 4 for unusable input or states, 1 for anything else.
    code : str
        The type of error, for use by programs. It does not depend on the message and never changes.

    Examples
    --------
    >>> import sparkrank as sr
    >>> try:
    ...     sr.Metric.parse("ndgc@10")
    ... except sr.SparkrankError as error:
    ...     print(type(error).__name__, error.exit_code, str(error).partition(" (")[0])
    MetricError 2 unknown metric "ndgc" in "ndgc@10", did you mean "ndcg"?
    """

    exit_code = 1
    code = "failed"

    def __init__(self, sentence: object = "") -> None:
        super().__init__(shorten(sentence, MOST_SENTENCE))

    @property
    def _render_traceback_(self) -> Callable[[], list[str]]:
        """A function that gives IPython one line to show in place of a traceback. Absent if tracebacks are kept."""
        if os.environ.get(TRACEBACK) == "1":
            raise AttributeError
        return lambda: [f"{type(self).__name__}: {self}"]


class SpecError(SparkrankError):
    """The error for a wrong request: a key, a value or a combination of values. Nothing has been read yet.

    Examples
    --------
    >>> import sparkrank as sr
    >>> try:
    ...     sr.Definitions(ties="wurst")
    ... except sr.SpecError as error:
    ...     print(error)
    ties is "wurst", did you mean "worst"? (allowed: expected, item, worst, best, block)
    """

    exit_code = 2
    code = "spec"


class FrameLaneNeededError(SpecError):
    """The error for an input that only the lane ``frame`` can read. The message contains the reason."""

    code = "frame_lane_needed"


class UnappliedFeatureError(FrameLaneNeededError):
    """The error for a lake table with a feature that only Spark may apply. The message names the feature."""

    exit_code = 4
    code = "input"


class MetricError(SpecError):
    """The error for an invalid text of a metric, and for an invalid declaration of a metric.

    Examples
    --------
    >>> import sparkrank as sr
    >>> try:
    ...     sr.Metric.parse("p(rel=x)@5")
    ... except sr.MetricError as error:
    ...     print(error)
    rel=x in "p(rel=x)@5" is not allowed (rel takes a number above 0)
    """

    code = "metric"


class OutOfMemoryError(SparkrankError):
    """The error for a group that does not fit in a process's memory. The message contains the hash of its key."""

    code = "out_of_memory"


class InputError(SparkrankError):
    """The error for an input that is missing, has the wrong schema, or has too many unusable rows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import sparkrank as sr
    >>> log = pa.table({"user": ["a", "a"], "score": [0.9, 0.5], "click": [0, 1]})
    >>> try:
    ...     sr.evaluate(log, ["rr"], group="user", score="score", label="clicks")
    ... except sr.InputError as error:
    ...     print(error.exit_code, error)
    4 the label column "clicks" is not in the input, did you mean "click"? (user, score, click)
    """

    exit_code = 4
    code = "input"


class MissingColumnError(InputError):
    """The error for a column of the request that the input lacks."""

    code = "input"


class NoInputError(InputError):
    """The error for an input or a truth that is missing or has no rows, as on a day without a log."""

    code = "no_input"


class RejectedRowsError(InputError):
    """The error for too many rejected rows. ``checks`` lists the reasons, by their names in the ``quality`` table."""

    code = "rejected_rows"

    def __init__(self, sentence: object = "", checks: Iterable[str] = ()) -> None:
        super().__init__(sentence)
        self.checks = tuple(checks)


class StoreError(SparkrankError):
    """The error for a failed file store or connection to it. The same request may succeed later.

    Examples
    --------
    >>> import sparkrank as sr
    >>> sr.StoreError.code, sr.StoreError.exit_code
    ('store', 1)
    """

    code = "store"


class StateError(SparkrankError):
    """The error for states (stored partial results) that are missing or cannot be merged.

    Examples
    --------
    >>> import sparkrank as sr
    >>> sr.StateError.code, sr.StateError.exit_code
    ('state', 4)
    """

    exit_code = 4
    code = "state"


class UnknownResultError(SparkrankError, KeyError):
    """The error for a value that is not in the results. It is also a ``KeyError``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import sparkrank as sr
    >>> log = pa.table({"user": ["a", "a"], "score": [0.9, 0.5], "click": [0, 1]})
    >>> ev = sr.evaluate(log, ["rr"], group="user", score="score", label="click")
    >>> try:
    ...     ev["ndcg@10"]
    ... except KeyError as error:
    ...     print(error)
    no metric "ndcg@10" was evaluated (there are: rr)
    """

    code = "unknown_result"
    __str__ = Exception.__str__  # a KeyError would put the sentence into quotes


class CodedSentence(str):
    """A message with a ``code`` by which programs identify the message, whatever its wording. A code never changes.

    Examples
    --------
    >>> sentence = CodedSentence("no_labels", "no row has a label")
    >>> sentence.code, sentence.capitalized()
    ('no_labels', 'No row has a label')
    """

    __slots__ = ("code",)
    code: str

    def __new__(cls, code: str, sentence: str) -> CodedSentence:  # noqa: PYI034 - typing.Self is of Python 3.11
        made = super().__new__(cls, sentence)
        made.code = code
        return made

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        return self.code, str(self)

    def capitalized(self) -> CodedSentence:
        """Return the message with a capital first letter and the same code."""
        return CodedSentence(self.code, f"{self[0].upper()}{self[1:]}")


def did_you_mean(value: object, known: Iterable[object]) -> str:
    """Return the hint ``, did you mean "x"?`` for the nearest of ``known`` names; an empty string if no name is near.

    Examples
    --------
    >>> did_you_mean("ndgc", ["ap", "ndcg", "rr"])
    ', did you mean "ndcg"?'
    >>> did_you_mean("rmse", ["ap", "ndcg", "rr"])
    ''
    """
    typed = shorten(value).strip(" []()'\"").lower()
    names = {name.lower(): name for name in map(shorten, known)}
    near = difflib.get_close_matches(typed, names, 1, 0.7)  # measured on the words of tests/base/test_sentences.py
    # With two swapped letters, short words such as "nwe" and "new" are less alike than that.
    near += [name for name in names if set(name) == set(typed) and abs(len(name) - len(typed)) <= 1]
    return f', did you mean "{names[near[0]]}"?' if near else ""


def hint(value: object, known: Collection[object], said: str = "allowed", none: str = "there is none") -> str:
    """Return the end of a sentence on a ``value`` that is not in ``known``: the nearest of ``known``, and all of them.

    Examples
    --------
    >>> hint("ndgc", ["ap", "ndcg"], "there are")
    ', did you mean "ndcg"? (there are: ap, ndcg)'
    >>> hint("ndgc", [])
    ' (there is none)'
    """
    all_known = f"{said}: {itemize(known)}" if said else itemize(known)
    return f"{did_you_mean(value, known)} ({all_known if known else none})"


def validate_names(said: str, given: Iterable[object], known: Collection[object], listed: str = "allowed") -> None:
    """Raise :class:`SpecError` if one of the ``given`` names is not in ``known``. Its message begins with ``said``."""
    for name in given:
        if name not in known:
            raise SpecError(f'{said} "{shorten(name)}"{hint(name, known, listed)}')


def itemize(names: Iterable[object]) -> str:
    """Return ``names`` joined for a message: ``a, b, c``. A very long list is cut and ends with ``and 5 more``."""
    texts = list(map(shorten, names))
    kept = texts[:1]
    room = MOST_LISTED - sum(map(len, kept))
    for text in texts[1:]:
        room -= len(text) + 2
        if room < 0:
            return f"{', '.join(kept)} and {len(texts) - len(kept)} more"
        kept.append(text)
    return ", ".join(kept)


def escape(text: str) -> str:
    """Return ``text`` on one line, with control characters, line ends and direction marks as Python escapes."""
    if text.isprintable():
        return text
    return "".join(
        letter
        if letter.isprintable() or unicodedata.category(letter) == "Zs"
        else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )


def shorten(text: object, most: int = MOST_SHOWN) -> str:
    """Return ``text`` for a message: without secrets, escaped, and shortened in the middle to ``most`` characters."""
    text = text_of_bytes(text) if isinstance(text, bytes) else text
    clean = _cut(text if isinstance(text, str) else _written(text, str), _MOST_CLEANED)
    return _cut(escape(_cut(redact(clean), most)), most)


def quote(value: object) -> str:
    """Return the ``repr`` of ``value`` for a message, without secrets, and reduced to :data:`MOST_SHOWN` characters."""
    clean = _cut(redact(_cut(value, _MOST_CLEANED)), MOST_SHOWN) if isinstance(value, str) else value
    return shorten(_written(clean, repr))


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = (most - 1) // 2
    return f"{text[: most - 1 - half]}…{text[-half:]}"


def _written(value: object, how: Callable[[object], str]) -> str:
    """Return ``how(value)``, shortened for a collection, or only the type if ``value`` has no string form."""
    try:
        return _FEW.repr(value) if isinstance(value, (list, tuple, dict, set, frozenset)) else how(value)
    except Exception:  # noqa: BLE001 - a number of thousands of digits, or an object without a text
        return f"a value of type {type(value).__name__}"


@contextmanager
def without_secrets() -> Iterator[None]:
    """Remove secrets from errors raised inside this context, and from their causes, because tracebacks print both."""
    try:
        yield
    except Exception as error:
        _clean_chain(error, set())
        if _is_clean(error):
            raise
        raise _stand_in(error) from None


def short_traceback(function: F) -> F:
    """Decorate ``function`` so that a traceback of its :class:`SparkrankError` has no inner frames, causes or secrets.

    The message describes the fault, so the only useful line of a traceback is that of the caller. The full traceback is
    kept if the environment variable ``SPARKRANK_TRACEBACK`` is 1.
    """

    @wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        try:
            with without_secrets():
                return function(*arguments, **named)
        except SparkrankError as error:
            if os.environ.get(TRACEBACK) == "1":
                raise
            raise error.with_traceback(None) from None

    return called  # type: ignore[return-value] # it has the same parameters and result


def _clean_chain(error: BaseException, seen: set[int]) -> None:
    """Remove secrets from ``error`` and its causes. A cause whose text cannot be changed is replaced by a new error."""
    seen.add(id(error))
    if not _is_clean(error):
        error.args = tuple(redact(text) if isinstance(text, str) else text for text in error.args)
        for name in ("strerror", "filename", "filename2", "msg", "problem", "context", "note"):
            if isinstance(text := getattr(error, name, None), str):
                with suppress(AttributeError, TypeError):
                    setattr(error, name, redact(text))
    if notes := getattr(error, "__notes__", None):
        error.__notes__ = [redact(str(text)) for text in notes]
    for behind in (error.__cause__, error.__context__):
        if behind is not None and id(behind) not in seen:
            _clean_chain(behind, seen)
    suppressed = error.__suppress_context__
    for name in ("__cause__", "__context__"):
        if (behind := getattr(error, name)) is not None and not _is_clean(behind):
            setattr(error, name, _stand_in(behind))
    error.__suppress_context__ = suppressed


def _is_clean(error: BaseException) -> bool:
    text = _written(error, str)
    return redact(text) == text


def _stand_in(error: BaseException) -> SparkrankError:
    """Return a new error with the message of an exception that cannot be changed, such as a Java exception."""
    return SparkrankError(f"{type(error).__name__}: {first_line(error)}").with_traceback(error.__traceback__)


def require(module: str, extra: str, what: str) -> None:
    """Raise :class:`SpecError` if ``module``, which ``what`` needs and ``extra`` installs, is missing."""
    if importlib.util.find_spec(module) is None:
        raise SpecError(f"{what} needs {module.replace('_', '-')}: pip install 'sparkrank[{extra}]'")


@contextmanager
def writing_errors(what: str, done: str = "written") -> Iterator[None]:
    """Turn an ``OSError`` inside a ``with`` block into a :class:`SparkrankError`: ``what`` cannot be ``done``."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else first_line(error)
        raise SparkrankError(f"{what} cannot be {done}: {reason}") from error


def unreadable(what: str, error: BaseException, advice: str = "") -> SparkrankError:
    """Return the error for a failed read: ``what``, the reason and, if the input itself is at fault, the ``advice``."""
    sentence = f"{what}: {shorten(first_line(error), MOST_LISTED)}"
    if isinstance(error, MemoryError):  # also raised by Arrow; the file may be intact
        return SparkrankError(f"{sentence} (the process lacks memory)")
    return StoreError(sentence) if _STORE_FAILS.search(str(error)) else InputError(sentence + advice)


def first_line(error: BaseException) -> str:
    """Return the first line of the message of ``error``, or the last line if the message is a traceback."""
    text = _DETAIL.split(str(error), maxsplit=1)[0].strip()
    lines = [line for line in text.split("\n") if line.strip()]
    if lines and lines[0].startswith("Traceback (most recent call last)"):
        return lines[-1].strip().rstrip(".")
    return lines[0].rstrip(".") if lines else type(error).__name__
