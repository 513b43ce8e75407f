"""All declared metrics by name, and the search for the one that a text means."""

from __future__ import annotations

from sparkrank.errors import MetricError, did_you_mean, listed
from sparkrank.metrics import auc, blocks, calibration, comparison, exposure, gain, precision, retrieval, threshold
from sparkrank.metrics.declaration import Declaration

CATALOG: dict[str, Declaration] = {
    declaration.name: declaration
    for module in (precision, gain, retrieval, comparison, auc, blocks, threshold, calibration, exposure)
    for declaration in module.DECLARATIONS
}

# An alias that ends in @ holds with a cut-off only: precision@5 is p@5, while precision alone is a metric of the day.
_ALIASES = {alias: declaration.name for declaration in CATALOG.values() for alias in declaration.aliases}


def declared(name: str) -> Declaration:
    """The declaration whose own name is ``name``."""
    return CATALOG[name]


def find(name: str, has_cutoff: bool, text: str) -> Declaration:
    """The declaration called ``name``, in any case, by its own name or an alias.

    Raises :class:`MetricError` with the nearest name and all names; ``text`` is the whole metric for the sentence.
    """
    lower = name.lower()
    if has_cutoff and f"{lower}@" in _ALIASES:
        return CATALOG[_ALIASES[f"{lower}@"]]
    if lower in CATALOG:
        return CATALOG[lower]
    if lower in _ALIASES:
        return CATALOG[_ALIASES[lower]]
    if f"{lower}@" in _ALIASES:
        raise MetricError(f'"{text}" needs a cut-off: write {lower}@k, or {_ALIASES[f"{lower}@"]} for the whole list')
    known = [*CATALOG, *(alias.rstrip("@") for alias in _ALIASES)]
    raise MetricError(f'unknown metric "{name}" in "{text}"{did_you_mean(lower, known)} (known: {listed(CATALOG)})')
