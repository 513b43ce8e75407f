"""The queue of pieces (record batches) in a task. Small pieces are joined before they are cut into buckets."""

from __future__ import annotations

from collections import defaultdict

import pyarrow as pa

from sparkrank.engines.shuffle.packing import bucket_sizes, buckets_of_piece, buckets_of_pieces, side_of
from sparkrank.engines.shuffle.spill import PieceStore
from sparkrank.numeric.text_arrays import is_text

# Slicing a part off a piece, keeping it and joining it with others takes as long as joining and cutting some hundred
# rows.
FEW_ROWS = 512
WAITING_BYTES = 16 << 20


class PieceQueue:
    """A task's queue of pieces (record batches) on the way to ``store``. Small pieces wait, and are cut together."""

    def __init__(self, store: PieceStore) -> None:
        self.buckets: set[int] = set()
        self._store = store
        self._waiting: dict[tuple[int, int, tuple[int, ...]], list[pa.RecordBatch]] = defaultdict(list)
        self._bytes = 0

    def add(self, first: int, piece: pa.RecordBatch) -> None:
        """Add ``piece``, whose first bucket has the number ``first``, to the store or to the waiting pieces."""
        sizes = bucket_sizes(piece)
        if sizes is None or piece.num_rows >= FEW_ROWS * len(sizes) or _has_texts(piece):
            self._keep(list(buckets_of_piece(first, piece)), piece.nbytes)
            return
        self._waiting[first, len(sizes), side_of(piece)].append(piece)
        self._bytes += piece.nbytes
        if self._bytes >= WAITING_BYTES:
            self.cut()

    def cut(self) -> None:
        """Cut all waiting pieces into buckets, and add the results to the store."""
        waiting, self._waiting, self._bytes = self._waiting, defaultdict(list), 0
        for (first, _, _), pieces in waiting.items():
            parts = list(buckets_of_pieces(first, pieces, self._store.schema))
            pieces.clear()
            self._keep(parts, sum(part.nbytes for _, part in parts))

    def forget(self) -> None:
        """Drop all waiting pieces after memory has run out."""
        self._waiting.clear()

    def _keep(self, parts: list[tuple[int, pa.RecordBatch]], size: int) -> None:
        self._store.add(parts, size)
        self.buckets.update(bucket for bucket, _ in parts)


def _has_texts(piece: pa.RecordBatch) -> bool:
    return any(pa.types.is_dictionary(kind) or is_text(kind) for kind in piece.schema.types)
