"""Datasets in the terms of OpenLineage: a namespace (the store) and a name inside it, without secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sparkrank.base.redaction import HIDDEN, redact, shown_url
from sparkrank.sources.lakes import LAKE_FORMATS
from sparkrank.tables.commit.days import local_path

_FACETS = "https://openlineage.io/spec/facets"
_SETTINGS = re.compile(r"[?#;].*", re.DOTALL)
_SCHEMES = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfs": "abfss", "wasb": "wasbs"}  # other words for one store
_BUCKETS = ("s3", "gs", "wasbs")  # stores whose names begin without a slash
_FILE_FORMATS = ("parquet", "orc", "avro", "json", "csv", "text", "xml")
CATALOG = "spark_catalog"  # the namespace of tables that Spark's session finds


@dataclass(frozen=True)
class LineageDataset:
    """A table that a day reads or writes: its place (``namespace`` and ``name``), columns and format.

    ``columns`` maps the name of each column to its type and its meaning (None: unknown). ``version`` is the version of
    a lake table. Only an input has ``facets``, such as the counts of its rows.
    """

    namespace: str
    name: str
    format: str | None = None
    version: str | None = None
    columns: Mapping[str, tuple[str | None, str | None]] = field(default_factory=dict)
    facets: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def at(cls, path: str, **own: Any) -> LineageDataset:
        """Return the dataset in the file or folder ``path`` (may be a URL), with the further fields ``own``."""
        return cls(*dataset_name(path), **own)

    def document(self, producer: str) -> dict[str, Any]:
        """Return the dataset in OpenLineage's JSON."""
        facets: dict[str, Any] = {}
        if self.columns:
            fields = [
                {"name": name, **_known(type=kind, description=meaning)}
                for name, (kind, meaning) in self.columns.items()
            ]
            facets["schema"] = {"fields": fields, **facet_of(producer, "1-2-0", "SchemaDatasetFacet")}
        if self.version is not None:
            version = {"datasetVersion": self.version}
            facets["version"] = {**version, **facet_of(producer, "1-0-1", "DatasetVersionDatasetFacet")}
        if self.format is not None:
            layer = self.format if self.format in LAKE_FORMATS else "file"
            kind = self.format if self.format in _FILE_FORMATS else None
            storage = {"storageLayer": layer, **_known(fileFormat=kind)}
            facets["storage"] = {**storage, **facet_of(producer, "1-0-1", "StorageDatasetFacet")}
        return {"namespace": self.namespace, "name": self.name, "facets": facets}


def facet_of(producer: str, version: str, name: str) -> dict[str, str]:
    """Return the keys by which a facet (part of an event) of OpenLineage names its producer and its schema."""
    return {"_producer": producer, "_schemaURL": f"{_FACETS}/{version}/{name}.json#/$defs/{name}"}


def dataset_name(path: str) -> tuple[str, str]:
    """Return the namespace and the name of a file or folder. Users, passwords and settings of a URL are left out.

    Examples
    --------
    >>> dataset_name("s3a://key:a/b@lake/impressions/dt=1?region=eu&session=x")
    ('s3://lake', 'impressions/dt=1')
    >>> dataset_name("hdfs://name:8020/log"), dataset_name("/log/dt=1")
    (('hdfs://name:8020', '/log'), ('file', '/log/dt=1'))
    """
    if (local := local_path(path)) is not None:
        return "file", redact(str(local))
    scheme, _, rest = _SETTINGS.sub("", shown_url(path)).partition("://")
    authority, _, name = rest.removeprefix(f"{HIDDEN}@").partition("/")
    scheme = _SCHEMES.get(scheme.lower(), scheme.lower())
    name = name.rstrip("/") if scheme in _BUCKETS else f"/{name.rstrip('/')}"
    return f"{scheme}://{authority}", name or "/"


def _known(**values: str | None) -> dict[str, str]:
    return {name: value for name, value in values.items() if value is not None}
