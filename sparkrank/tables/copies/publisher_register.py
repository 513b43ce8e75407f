"""The register of publishers. Its keys are the values of ``format`` under ``output.publish`` in a spec."""

from __future__ import annotations

from sparkrank.tables.copies.catalog_copies import CatalogCopies
from sparkrank.tables.copies.delta_copies import DeltaCopies
from sparkrank.tables.copies.iceberg_copies import IcebergCopies
from sparkrank.tables.copies.publisher import Publisher

PUBLISHERS: dict[str, type[Publisher]] = {kind.word: kind for kind in (DeltaCopies, IcebergCopies, CatalogCopies)}
