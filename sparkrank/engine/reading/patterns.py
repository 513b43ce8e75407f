"""Paths that stand for all files that match them, as Hadoop and so Spark reads them.

``*`` and ``?`` do not pass a slash, ``[a-c]`` and ``[^a-c]`` are one letter, ``{a,b}`` is either of two, which may hold
slashes, and a backslash takes the meaning from what follows it.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Sequence

from sparkrank.errors import SpecError

_MARKS = frozenset("*?[]{}\\")
_MOST = 1000  # alternatives of braces that hold slashes


def is_pattern(path: str) -> bool:
    """Whether ``path`` stands for all files that match it."""
    return not _MARKS.isdisjoint(path)


def escaped(path: str) -> str:
    """``path`` as a pattern that only itself matches."""
    return "".join(f"\\{letter}" if letter in _MARKS else letter for letter in path)


def alternatives(path: str) -> list[list[str]]:
    """The parts between the slashes of ``path``, once for each choice from braces that hold slashes."""
    whole: list[str] = []
    for one in _without_slashes_in_braces(path):
        if len(whole) == _MOST:
            raise SpecError(f"the braces of the path {path[:200]} stand for more than {_MOST} paths: name fewer")
        whole.append(one)
    return [each.split("/") for each in dict.fromkeys(whole)]


def fixed_parts(pattern: Sequence[str]) -> list[str]:
    """The parts of ``pattern`` that stand before the first of several meanings, without their backslashes."""
    texts: list[str] = []
    for part in pattern:
        text = re.sub(r"\\(.)", r"\1", part)
        if is_pattern(re.sub(r"\\.", "", part)):
            break
        texts.append(text)
    return texts


def matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether a file, or a folder that it is in, matches ``pattern``; a wildcard does not pass a slash."""
    within = parts[: len(pattern)]
    return len(within) == len(pattern) and all(
        _compiled(each).fullmatch(part) is not None for part, each in zip(within, pattern, strict=True)
    )


def _without_slashes_in_braces(path: str) -> Iterator[str]:
    """``path`` with each choice from its first braces that hold a slash, and so on until none do."""
    depth, start, commas, slashed, place = 0, 0, list[int](), False, 0
    while place < len(path):
        letter = path[place]
        if letter == "\\":
            place += 1
        elif letter == "{":
            depth += 1
            if depth == 1:
                start, commas, slashed = place, [], False
        elif letter == "," and depth == 1:
            commas.append(place)
        elif letter == "/" and depth:
            slashed = True
        elif letter == "}" and depth:
            depth -= 1
            if not depth and slashed:
                ends = [start, *commas, place]
                for first, last in itertools.pairwise(ends):
                    yield from _without_slashes_in_braces(path[:start] + path[first + 1 : last] + path[place + 1 :])
                return
        place += 1
    yield path


@functools.lru_cache(maxsize=1024)
def _compiled(part: str) -> re.Pattern[str]:
    """One part of a path as a regular expression; raises :class:`SpecError` where it has none."""
    made: list[str] = []
    braces, in_class, letters = 0, False, iter(part)
    for letter in letters:
        if letter == "\\":
            made.append(re.escape(next(letters, "\\")))
        elif in_class:
            in_class = letter != "]"
            first = made[-1] == "["
            made.append("^" if first and letter in "!^" else letter if letter in "]-" else re.escape(letter))
        elif letter == "[":
            in_class = True
            made.append("[")
        elif letter in "*?":
            made.append(".*" if letter == "*" else ".")
        elif letter == "{":
            braces += 1
            made.append("(?:")
        elif letter in ",}" and braces:
            braces -= letter == "}"
            made.append("|" if letter == "," else ")")
        else:
            made.append(re.escape(letter))
    try:
        return re.compile("".join(made), re.DOTALL)
    except re.error:
        raise SpecError(
            f'"{part[:200]}" in a path is no pattern: its brackets or braces do not close, and a backslash before them '
            "takes them as they are"
        ) from None
