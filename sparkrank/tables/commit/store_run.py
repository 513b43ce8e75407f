"""Runs in an object store, where a manifest names the run of a day (:mod:`sparkrank.tables.commit.manifests`).

Programs that cannot read manifests find copies of the tables in the folders used on a file system. The copies are
replaced one table at a time. The copy of ``runs`` is removed first and added last: while a day has a copy of ``runs``,
all copies belong to one run. While a table is being replaced, its copy is briefly missing, or unreadable if the copy
has several files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from sparkrank.base.errors import StoreError, first_line, shorten
from sparkrank.tables.commit.links import Commit, Table, write_parquet
from sparkrank.tables.commit.manifests import Manifest, StoredManifest, StoreFolder
from sparkrank.tables.commit.output_folder import RUNS_FOLDER

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class StoreRun:
    """The run ``attempt`` of ``day`` in an object store, which replaces the stored manifest ``before``.

    ``known`` maps the table and name of each file from an earlier run to the file's entry in ``runs`` of that run.
    """

    place: StoreFolder
    day: str
    column: str
    attempt: str
    before: StoredManifest
    how: Commit
    known: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    @property
    def _run(self) -> str:
        return f"{self.day}.{self.attempt}"

    @property
    def folder(self) -> str:
        """The URL of the folder where tables can be written before the commit."""
        return self.place.run_url(self._run)

    def commit(self, tables: Mapping[str, Table], written: Collection[str] = ()) -> None:
        names = tuple(sorted({*tables, *written}))
        files: list[dict[str, Any]] = [file for name in sorted(written) for file in self._listed(name)]
        for name, given in tables.items():
            table = given(files=files, attempt_id=self.attempt) if callable(given) else given
            files += self._written(name, table)
        shown = self.before.manifest
        runs = () if shown is None else (*shown.replaced, shown.run)
        kept = runs[-self.how.keep_runs :] if self.how.keep_runs else ()
        self.how.before()
        self.place.replace(self.day, self.before, Manifest(self._run, names, kept))
        try:
            self._copy(names, () if shown is None else shown.tables)
            for run in runs[: len(runs) - len(kept)]:
                self.place.remove_run(run)
        except (pa.ArrowException, OSError) as error:
            lack = f"not all copies of its tables under {shorten(self.place.url)} are new"
            reason = f"{self.day} is shown by its manifest, but {lack} ({shorten(first_line(error))})"
            raise StoreError(f"{reason}: run the day again") from error

    def keep_others(self, names: Collection[str], listed: Sequence[dict[str, Any]]) -> tuple[str, ...]:
        kept = {table: folder for table, folder in self._shown().items() if table not in names}
        for table, folder in kept.items():
            for info in self.place.files(folder):
                target = f"{self.place.root}/{RUNS_FOLDER}/{self._run}/{table}/{info.base_name}"
                self.place.store.copy_file(info.path, target)
        self.known.update(((file["table"], file["name"]), file) for file in listed)
        return tuple(kept)

    def _shown(self) -> dict[str, str]:
        """Return the folder of each table of the day before this run. Days of old releases have no manifest."""
        shown = self.before.manifest
        if shown is not None:
            return {table: f"{RUNS_FOLDER}/{shown.run}/{table}" for table in shown.tables}
        folders = {table: f"{table}/{self.column}={self.day}" for table in self.place.tables()}
        return {table: folder for table, folder in folders.items() if self.place.files(folder)}

    def discard(self) -> None:
        """Remove the files of this run, unless the manifest of the day names this run."""
        manifest = self.place.read(self.day).manifest
        if manifest is None or manifest.run != self._run:
            self.place.remove(f"{RUNS_FOLDER}/{self._run}")

    def _written(self, name: str, table: pa.Table | DataFrame) -> list[dict[str, Any]]:
        """Write ``table`` as the table ``name``, and return an entry for the table ``runs`` for each written file."""
        if not isinstance(table, pa.Table):
            table.write.parquet(f"{self.folder}/{name}")
            return self._listed(name)
        sink = pa.BufferOutputStream()
        write_parquet(table, sink, self.attempt)
        content, file = sink.getvalue(), f"part-0-{self.attempt}.parquet"
        path = f"{self.place.root}/{RUNS_FOLDER}/{self._run}/{name}/{file}"
        try:
            with self.place.store.open_output_stream(path) as opened:
                opened.write(content)
        except (pa.ArrowException, OSError) as error:
            reason = shorten(first_line(error))
            raise StoreError(f"the table {name} cannot be written to {shorten(self.folder)}: {reason}") from error
        checksum = hashlib.sha256(content).hexdigest()
        return [{"table": name, "name": file, "rows": table.num_rows, "bytes": content.size, "checksum": checksum}]

    def _listed(self, name: str) -> list[dict[str, Any]]:
        """Return an entry for ``runs`` for each file of the table ``name``. The entries of new files lack checksums."""
        listed = []
        for info in self.place.files(f"{RUNS_FOLDER}/{self._run}/{name}"):
            if (name, info.base_name) in self.known:
                listed.append(self.known[name, info.base_name])
                continue
            rows = pq.read_metadata(info.path, filesystem=self.place.store).num_rows
            listed.append({"table": name, "name": info.base_name, "rows": rows, "bytes": info.size, "checksum": None})
        return listed

    def _copy(self, names: Collection[str], before: Collection[str]) -> None:
        """Replace the copies of the tables ``names``. Copies of tables that are only in ``before`` are removed."""
        self.place.remove(f"runs/{self.column}={self.day}")
        for name in sorted({*names, *before}, key=lambda name: (name == "runs", name)):
            sources = self.place.files(f"{RUNS_FOLDER}/{self._run}/{name}")
            self.place.replace_files(f"{name}/{self.column}={self.day}", sources)
