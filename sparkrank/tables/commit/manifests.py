"""The manifest of a day in an object store: a small object that names the readers' run and its tables.

An object store replaces a single object atomically. Many stores can also refuse to replace an object that has changed
since the writer read the object. In such a store, if two runs write the same day, only one of the two runs succeeds.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
from pyarrow import fs

from sparkrank.base.errors import InputError, SparkrankError, StoreError, first_line, shorten
from sparkrank.sources.files import file_system, folders_in
from sparkrank.tables.commit.output_folder import DAYS_FOLDER, RUNS_FOLDER

if TYPE_CHECKING:
    from obstore import UpdateVersion
    from obstore.store import ObjectStore

# Arrow's file systems that have no folders, and the URL schemes of their paths.
_SCHEMES = re.compile(r"(s3a?|s3n|gs|gcs)://", re.IGNORECASE)
_OBSTORE_SCHEMES = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}
_RUN = re.compile(r"(?P<name>\d{4}-\d{2}-\d{2}(\.\.\d{4}-\d{2}-\d{2})?)\.[0-9a-f]{12}")
_TABLE = re.compile(r"[a-z][a-z_]*")
MOST_BYTES = 16 << 20  # a larger object is not a manifest
# An object beside files that are written or removed one by one. A Parquet reader fails on this object, so that a reader
# cannot take some of the files for all of them.
_GUARD, _GUARD_TEXT = "being-replaced.parquet", b"The files beside this one are being replaced or removed.\n"


@dataclass(frozen=True)
class Manifest:
    """The ``run`` that readers of a day see, and its ``tables``. ``replaced`` lists the earlier runs, newest last."""

    run: str
    tables: tuple[str, ...]
    replaced: tuple[str, ...] = ()

    def as_json(self) -> bytes:
        """Return the manifest as JSON, in the bytes that the store keeps."""
        return json.dumps(asdict(self), indent=1).encode()

    @classmethod
    def of(cls, content: bytes, name: str, place: str) -> Manifest:
        """Read the manifest of the day ``name`` at ``place``. Raise :class:`InputError` if ``content`` is invalid."""
        try:
            document: dict[str, Any] = json.loads(content)
            tables, replaced = (tuple(map(str, document[name])) for name in ("tables", "replaced"))
            manifest = cls(str(document["run"]), tables, replaced)
        except (ValueError, KeyError, TypeError):
            raise InputError(f"{shorten(place)} is not a manifest of sparkrank: evaluate that day again") from None
        runs = [_RUN.fullmatch(run) for run in (manifest.run, *manifest.replaced)]
        if not all(run is not None and run["name"] == name for run in runs):
            raise InputError(f"{shorten(place)} names no run of {name}: evaluate that day again")
        if not all(map(_TABLE.fullmatch, manifest.tables)):
            raise InputError(f"{shorten(place)} names no tables: evaluate that day again")
        return manifest


@dataclass(frozen=True)
class StoredManifest:
    """The manifest of a day (None if missing or invalid), and the object's version tag (None if unknown)."""

    manifest: Manifest | None
    tag: UpdateVersion | None = None


@dataclass(frozen=True)
class StoreFolder:
    """The output folder ``url`` in an object store: the folder ``root`` of Arrow's file system ``store``."""

    url: str
    store: fs.FileSystem
    root: str

    @classmethod
    def at(cls, output: str) -> StoreFolder | None:
        """Return the folder ``output`` without any request, or None if Arrow supports no object store for its URL."""
        if _SCHEMES.match(output) is None:
            return None
        try:
            store, root = file_system(output)
        except (pa.ArrowException, OSError):
            return None
        return cls(output.rstrip("/"), store, root)

    @classmethod
    def that_opens(cls, output: str) -> StoreFolder | None:
        """Return the folder ``output``, or None if Arrow cannot list it, for example without Spark's credentials."""
        place = cls.at(output)
        try:
            if place is not None:
                place.store.get_file_info(fs.FileSelector(place.root, allow_not_found=True))
        except (pa.ArrowException, OSError):
            return None
        return place

    def run_url(self, run: str) -> str:
        """Return the URL of the folder in which the run named ``run`` keeps its tables."""
        return f"{self.url}/{RUNS_FOLDER}/{run}"

    def read(self, name: str) -> StoredManifest:
        """Read the manifest of the day ``name``. Raise :class:`InputError` if it is invalid, and errors of Arrow."""
        key = f"{DAYS_FOLDER}/{name}.json"
        try:
            with self.store.open_input_file(f"{self.root}/{key}") as opened:
                content = opened.read(min(opened.size(), MOST_BYTES))
        except FileNotFoundError:
            return StoredManifest(None)
        return StoredManifest(Manifest.of(content, name, f"{self.url}/{key}"))

    def read_to_replace(self, name: str) -> StoredManifest:
        """Read the manifest of the day ``name``, and its object's version tag if the package obstore is installed."""
        objects = self._objects()
        if objects is None:
            return self.read(name)
        import obstore

        key = f"{DAYS_FOLDER}/{name}.json"
        try:
            response = obstore.get(objects, key)
            content = bytes(response.bytes())
        except FileNotFoundError:
            return StoredManifest(None)
        except obstore.exceptions.BaseError as error:
            raise StoreError(f"{shorten(self.url)}/{key} cannot be read: {shorten(first_line(error))}") from error
        # Stores identify the version of an object by a tag (S3, Azure) or a number (Google Cloud's generation).
        tag: UpdateVersion = {name: mark for name in ("e_tag", "version") if (mark := response.meta[name]) is not None}  # type: ignore[assignment]
        try:
            return StoredManifest(Manifest.of(content, name, f"{self.url}/{key}"), tag)
        except InputError:  # an invalid manifest is replaced
            return StoredManifest(None, tag)

    def replace(self, name: str, before: StoredManifest, manifest: Manifest) -> None:
        """Store ``manifest`` for the day ``name``, unless the stored manifest has changed since ``before`` was read.

        Without the package obstore, changes cannot be noticed, and the manifest is replaced anyway. Raise
        :class:`SparkrankError` if another run has changed the manifest, and :class:`StoreError` if the store fails.
        """
        key, objects = f"{DAYS_FOLDER}/{name}.json", self._objects()
        if objects is None:
            with self.store.open_output_stream(f"{self.root}/{key}") as opened:
                opened.write(manifest.as_json())
            return
        import obstore
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        try:
            mode: Literal["create"] | UpdateVersion = "create" if before.tag is None else before.tag
            obstore.put(objects, key, manifest.as_json(), mode=mode, use_multipart=False)
        except obstore.exceptions.BaseError as error:
            if self.read(name).manifest == manifest:  # the answer was lost; the request may have been repeated
                return
            if isinstance(error, (AlreadyExistsError, PreconditionError)):
                reason = f"another run has replaced {name} under {shorten(self.url)} meanwhile"
                raise SparkrankError(f"{reason}: no table of this run is visible") from None
            reason = shorten(first_line(error))
            raise StoreError(f"{shorten(self.url)}/{key} cannot be written: {reason}") from error

    def _objects(self) -> ObjectStore | None:
        """Open the folder with obstore, which supports conditional writes; None if obstore is not installed."""
        try:
            from obstore.store import from_url
        except ImportError:
            return None
        scheme, _, rest = self.url.partition("://")
        scheme = _OBSTORE_SCHEMES.get(scheme.lower(), scheme.lower())
        return from_url(f"{scheme}://{rest}", client_options={"allow_http": True})

    def tables(self) -> list[str]:
        """Return the names of the folders directly below the output that may contain copies of tables."""
        return list(filter(_TABLE.fullmatch, folders_in(self.store, self.root)))

    def files(self, folder: str) -> list[fs.FileInfo]:
        """Return the visible files at any depth below ``folder``, a path relative to the root, sorted by path."""
        files = (info for info in self._below(folder) if info.type == fs.FileType.File)
        return sorted((info for info in files if info.base_name[:1] not in "._"), key=lambda info: info.path)

    def remove(self, folder: str) -> None:
        """Remove ``folder``, a path relative to the root, and everything below it. The folder need not exist."""
        if not self._below(folder):
            return
        try:
            self.store.delete_dir(f"{self.root}/{folder}")
        except FileNotFoundError:
            # In Google Cloud Storage, Arrow finally removes an object that stands for the folder itself. Copies never
            # create this object.
            if self._below(folder):
                raise

    def replace_files(self, folder: str, sources: Sequence[fs.FileInfo] = ()) -> None:
        """Replace the files in ``folder`` with copies of ``sources``. Without ``sources``, remove the folder.

        A reader gets all old files, all new files, an empty folder, or an error. If there are several files, a reader
        never gets only some of them.
        """
        there, guard = self.files(folder), f"{self.root}/{folder}/{_GUARD}"
        is_guarded = max(len(there), len(sources)) > 1
        if is_guarded:
            with self.store.open_output_stream(guard) as opened:
                opened.write(_GUARD_TEXT)
            for info in there:
                if info.base_name != _GUARD:
                    self.store.delete_file(info.path)
        else:
            self.remove(folder)
        for info in sources:
            self.store.copy_file(info.path, f"{self.root}/{folder}/{info.base_name}")
        if is_guarded and sources:
            self.store.delete_file(guard)
        elif is_guarded:
            self.remove(folder)

    def remove_run(self, run: str) -> None:
        """Remove the tables of a run that readers no longer see, starting with the table ``runs``."""
        folder = f"{RUNS_FOLDER}/{run}"
        self.remove(f"{folder}/runs")
        counts = Counter(info.path.split("/")[-2] for info in self.files(folder))
        for table, count in counts.items():
            if count > 1:
                self.replace_files(f"{folder}/{table}")
        self.remove(folder)

    def _below(self, folder: str) -> list[fs.FileInfo]:
        selector = fs.FileSelector(f"{self.root}/{folder}", allow_not_found=True, recursive=True)
        return list(self.store.get_file_info(selector))
