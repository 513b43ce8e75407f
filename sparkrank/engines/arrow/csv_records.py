"""Blocks of CSV by compiled loops (:mod:`sparkrank.native.records`): columns of numbers and texts in one pass.

They give what Arrow's reader and the patterns of :mod:`sparkrank.engines.arrow.text_schema` give, and leave to these
what they do not read. What is looked for in a block before anything is read stands here as well.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkrank import native
from sparkrank.engines.arrow.text_schema import LABEL_KIND, WHOLE, arrow_kind
from sparkrank.numeric.array_types import Flags

Block: TypeAlias = bytes | memoryview
_BLANK_LINE = re.compile(rb"^[\x00-\x09\x0b\x0c\x0e-\x20]+\r?$", re.MULTILINE)
_SKIPPED, _TEXT, _WHOLE, _DOUBLE, _LABEL = range(5)  # as in sparkrank/native/records.h
_SPOILED = 2
_NUMBERS = {**dict.fromkeys(WHOLE, _WHOLE), "double": _DOUBLE, LABEL_KIND: _LABEL}


@dataclass(frozen=True)
class Letters:
    """The letters of a dialect, a byte each. There may be no ``quote``; ``doubled``: two of them are one in a field."""

    separator: bytes
    quote: bytes
    doubled: bool
    multi_line: bool

    @property
    def _are_apart(self) -> bool:
        return self.separator != self.quote and not {self.separator, self.quote} & {b"\n", b"\r"}

    def has_loose_quote(self, block: Block) -> bool:
        """Whether ``block``, which is not empty, has a quote that does not enclose a field."""
        if not self.quote or not count(block, self.quote):
            return False
        if native.runs("records", self._are_apart):
            found: bool = native.records.loose_quote(
                block, self.quote[0], self.separator[0], self.doubled, self.multi_line
            )
            return found
        return self.quote in self._quoted.sub(b"", bytes(block))

    @functools.cached_property
    def _quoted(self) -> re.Pattern[bytes]:
        """A field within quotes, as Arrow and Spark read it alike."""
        quote, sep = re.escape(self.quote), re.escape(self.separator)
        inside = rb"[^%b]" % quote if self.multi_line else rb"[^%b\r\n]" % quote
        both = rb"(?:%b|%b%b)*" % (inside, quote, quote) if self.doubled else rb"%b*" % inside
        return re.compile(rb"(?:^|(?<=[%b\r\n]))%b%b%b(?=[%b\r\n]|\Z)" % (sep, quote, both, quote, sep))

    def read(
        self, block: Block, kinds: Mapping[str, str | None], numbers: AbstractSet[str], *, header: bool
    ) -> tuple[pa.Table, Flags | None] | None:
        """The columns of the records of ``block`` that have one of ``kinds``, and which rows have a text that is none.

        ``kinds`` has all columns in their order, None for those that nobody asks for. Texts of ``numbers`` are looked
        at, and None stands for no such row. With a ``header`` the first line is no record. A column of a kind that the
        loops do not read comes as texts. None where Arrow should read all.
        """
        if not native.runs("records", self._are_apart):
            return None
        most = count(block, b"\n") + 1
        codes = [_SKIPPED if kind is None else _NUMBERS.get(kind, _TEXT) for kind in kinds.values()]
        limits = [2 ** (WHOLE.get(kind or "", 1) - 1) for kind in kinds.values()]
        table = np.array([(code, -limit, limit - 1) for code, limit in zip(codes, limits, strict=True)], np.int64)
        values = [_memory(code, most) for code in codes]
        states = [np.empty(most if code > _TEXT else 0, np.uint8) for code in codes]
        texts = [np.empty(len(block) if code == _TEXT else 0, np.uint8) for code in codes]
        lengths, others = np.zeros(len(codes), np.int64), np.zeros(len(codes), np.int64)
        quote = self.quote[0] if self.quote else -1
        rows = native.records.read(
            block,
            self.separator[0],
            quote,
            header,
            most,
            table,
            [each.view(np.uint8) for each in values],
            states,
            texts,
            lengths,
            others,
        )
        if rows < 0:
            return None
        found: dict[str, pa.Array] = {}
        spoiled: Flags | None = None
        for index, (name, kind) in enumerate(kinds.items()):
            if codes[index] == _TEXT:
                ends = values[index][: rows + 1].copy()
                texts_of_column = _texts(ends, texts[index][: lengths[index]].copy(), bool(others[index]))
                if texts_of_column is None:
                    return None
                found[name] = texts_of_column
            elif kind is not None:
                state = states[index][:rows] if others[index] else None
                read = pa.array(values[index][:rows], mask=None if state is None else state != 0)
                found[name] = read.cast(arrow_kind(kind))
                if state is not None and name in numbers:
                    none = state == _SPOILED
                    spoiled = none if spoiled is None else spoiled | none
        return pa.table(found), spoiled


def _memory(code: int, rows: int) -> NDArray[Any]:
    """What the loops write of ``rows`` rows of a column: numbers, or the ends of texts."""
    if code == _TEXT:
        return np.zeros(rows + 1, np.int32)
    return np.empty(rows if code != _SKIPPED else 0, np.int64 if code == _WHOLE else np.float64)


def _texts(ends: NDArray[np.int32], data: NDArray[np.uint8], have_nulls: bool) -> pa.Array | None:
    """Texts, null where one is empty; None where they are no UTF-8."""
    valid, nulls = None, 0
    if have_nulls:
        is_valid = ends[1:] != ends[:-1]
        valid, nulls = pa.py_buffer(np.packbits(is_valid, bitorder="little")), int(len(is_valid) - is_valid.sum())
    texts = pa.Array.from_buffers(
        pa.string(), len(ends) - 1, [valid, pa.py_buffer(ends), pa.py_buffer(data)], null_count=nulls
    )
    try:
        texts.validate(full=bool(len(data) and data.max() >= 0x80))
    except pa.ArrowInvalid:
        return None
    return texts


def count(block: Block, letter: bytes) -> int:
    """How often ``letter`` stands in ``block``, which is not empty."""
    if native.runs("records"):
        return native.records.count(block, letter[0])
    return bytes(block).count(letter)


def line_ends(block: Block) -> int:
    """How many lines of ``block``, which is not empty, end; -1 where one has blanks and control letters alone."""
    if native.runs("records"):
        return native.records.line_ends(block)
    if _BLANK_LINE.search(block):
        return -1
    letters = bytes(block)
    return letters.count(b"\n") + letters.count(b"\r") - letters.count(b"\r\n")
