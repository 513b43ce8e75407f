"""Parts of text files, which are looked through and read side by side, each a block of whole records at a time."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from pyarrow import fs

from sparkrank.engines.arrow.integrity import Stamp
from sparkrank.errors import InputError, unreadable

Block: TypeAlias = bytes | memoryview
BLOCK = 2 << 20  # bytes that are looked through and parsed at once
PART = 32 << 20  # bytes of a large file that one thread or task reads: about a million rows
MOST_RECORD = 64 << 20
SHARED_FILES = 64  # small files that one thread or task reads: a store takes long to open each
PACKED = (".gz", ".bz2", ".zst")  # Arrow unpacks these as Hadoop does
_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\n|\r\n|\r(?=[^\n])")
_WINDOW = 64 << 10  # bytes that are read at once where the end of a line is looked for


class Part(NamedTuple):
    """The records of ``file`` that begin at the bytes from ``start`` up to ``end``, or all of them where it is None.

    ``stamp`` tells whether the file is changed later, as far as its store says when it was.
    """

    file: str
    start: int = 0
    end: int | None = None
    stamp: Stamp | None = None


def parts_of(files: Sequence[str], stamps: Mapping[str, Stamp], *, by_line: bool) -> tuple[Part, ...]:
    """The parts of ``files`` in their order, of about equal length.

    A packed file is one part, and so is every other where a line may be a piece of a record (not ``by_line``).
    """
    parts: list[Part] = []
    for file in files:
        stamp = stamps.get(file)
        count = 1 if stamp is None or not by_line or file.endswith(PACKED) else max(1, -(-stamp[0] // PART))
        if stamp is None or count == 1:
            parts.append(Part(file, stamp=stamp))
            continue
        bounds = [stamp[0] * place // count for place in range(count + 1)]
        parts += [Part(file, start, end, stamp) for start, end in itertools.pairwise(bounds)]
    return tuple(parts)


def blocks(store: fs.FileSystem, part: Part, end_of: Callable[[bytearray, int], int]) -> Iterator[memoryview]:
    """The bytes of ``part`` in blocks of whole records, unpacked and without a byte order mark.

    ``end_of`` says where the last whole record of the first bytes of a buffer ends, 0 where none does. All blocks stand
    in the same memory, one after the other: a block lasts until the next is asked for.
    """
    room, size, is_first = bytearray(2 * BLOCK), 0, part.start == 0
    with _opened(store, part) as (stream, length):
        left = length
        while True:
            if size + BLOCK > len(room):
                room = room[:size] + bytearray(size + BLOCK)
            most = BLOCK if left is None else min(BLOCK, left)
            read = stream.readinto(memoryview(room)[size : size + most]) if most else 0
            left = None if left is None else left - read
            size += read
            if is_first and room.startswith(_BOM):
                size -= len(_BOM)
                room[:size] = room[len(_BOM) : len(_BOM) + size]
            is_first = False
            if not read:
                break
            if end := end_of(room, size):
                yield memoryview(room)[:end].toreadonly()
                size -= end
                room[:size] = room[end : end + size]
            if size > MOST_RECORD:
                raise InputError(f"{part.file} has a record of more than {MOST_RECORD >> 20} MiB")
    if size:
        yield memoryview(room)[:size].toreadonly()


def end_of_line(room: bytearray, size: int) -> int:
    """Where the last whole line of the first ``size`` bytes of ``room`` ends, 0 where none does."""
    return (room.rfind(b"\n", 0, size) + 1) or (room.rfind(b"\r", 0, size) + 1)


def is_utf8(block: Block) -> bool:
    """Whether the bytes of ``block``, which begins and ends with whole lines, are UTF-8."""
    if not np.any(np.frombuffer(block, np.int8) < 0):  # all are ASCII
        return True
    try:
        str(block, "utf-8")
    except UnicodeDecodeError:
        return False
    return True


@contextmanager
def _opened(store: fs.FileSystem, part: Part) -> Iterator[tuple[pa.NativeFile, int | None]]:
    """The bytes of ``part``, and how many there are; None where that is not known before they are unpacked."""
    if part.end is None:
        with store.open_input_stream(part.file) as stream:  # unpacks what its name says is packed
            yield stream, None
        return
    with store.open_input_file(part.file) as file:
        start, end = (_line_start(file, at, part.file) for at in (part.start, part.end))
        file.seek(start)
        yield file, end - start


def _line_start(file: pa.NativeFile, at: int, name: str) -> int:
    """Where the first line begins that begins at byte ``at`` or later; the end of the file where none does.

    Two parts that meet at ``at`` ask the same, and so each line belongs to one of them.
    """
    if at == 0:
        return 0
    file.seek(at - 1)
    seen = bytearray()
    while more := file.read(_WINDOW):
        begun = max(len(seen) - 1, 0)  # a letter that may be the first of a line end was looked at before
        seen += more
        if found := _LINE_END.search(seen, begun):
            return at - 1 + found.end()
        if len(seen) > MOST_RECORD:
            raise InputError(f"{name} has a record of more than {MOST_RECORD >> 20} MiB")
    return at - 1 + len(seen)


@contextmanager
def reading_errors(what: str) -> Iterator[None]:
    """A context in which errors of Arrow and of the store become those of sparkrank, in a sentence about ``what``."""
    try:
        yield
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        raise unreadable(what, error) from error
