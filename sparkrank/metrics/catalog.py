"""All declared metrics by name, and the search for the one that a text means.

:func:`sparkrank.metrics.registry.register` adds those from outside the package.
"""

from __future__ import annotations

from collections.abc import Mapping

from sparkrank.base.errors import MetricError, did_you_mean, listed
from sparkrank.metrics import aliases as names
from sparkrank.metrics import calibration, exposure, gain, precision, retrieval
from sparkrank.metrics import classification as threshold
from sparkrank.metrics import discrimination as bins
from sparkrank.metrics import group_auc as auc
from sparkrank.metrics import rank_comparison as comparison
from sparkrank.metrics.declaration import Declaration

CATALOG: dict[str, Declaration] = {
    declaration.name: declaration
    for module in (precision, gain, retrieval, comparison, auc, bins, threshold, calibration, exposure)
    for declaration in module.DECLARATIONS
}

# An alias that ends in @ holds with a cut-off only: precision@5 is p@5, while precision alone is pooled.
_ALIASES = {alias: declaration.name for declaration in CATALOG.values() for alias in declaration.aliases}


# Those of the package itself, which every process has.
BUILT_IN: Mapping[str, Declaration] = dict(CATALOG)


def declared(name: str) -> Declaration:
    """The declaration of the package whose own name is ``name``."""
    return BUILT_IN[name]


def is_built_in(declaration: Declaration) -> bool:
    """Whether ``declaration`` is one of the package, so that every process finds it by its name."""
    return BUILT_IN.get(declaration.name) is declaration


def add(declaration: Declaration) -> None:
    """Make ``declaration`` known by its name and its aliases, which nobody has."""
    CATALOG[declaration.name] = declaration
    _ALIASES.update(dict.fromkeys(declaration.aliases, declaration.name))


def remove(name: str) -> None:
    """Forget a declaration that was added."""
    for alias in CATALOG.pop(name).aliases:
        del _ALIASES[alias]


def meaning(name: str, has_cutoff: bool, text: str) -> tuple[Declaration, str]:
    """The declaration called ``name``, in any case, by its own name or an alias, and the parameters that this implies.

    Raises :class:`MetricError` with the nearest name and all names; ``text`` is the whole metric for the sentence.
    """
    key = names.looked_up(name)
    if has_cutoff and f"{key}@" in _ALIASES:
        return CATALOG[_ALIASES[f"{key}@"]], ""
    if key in CATALOG:
        return CATALOG[key], ""
    if key in _ALIASES:
        return CATALOG[_ALIASES[key]], ""
    of_others = names.meant(name, has_cutoff)
    if of_others is not None:
        return CATALOG[of_others[0]], of_others[1]
    if f"{key}@" in _ALIASES:
        raise MetricError(f'"{text}" needs a cut-off: write {key}@k, or {_ALIASES[f"{key}@"]} for the whole list')
    if (cut := names.needs_cutoff(name)) is not None:
        raise MetricError(f'"{text}" needs a cut-off: write {cut}@k')
    declared = list(CATALOG)
    known = [*declared, *(alias.rstrip("@") for alias in (*_ALIASES, *names.ALIASES))]
    raise MetricError(f'unknown metric "{name}" in "{text}"{did_you_mean(key, known)} (known: {listed(declared)})')


def find(name: str, has_cutoff: bool, text: str) -> Declaration:
    """The declaration called ``name``. Raises :class:`MetricError` as :func:`meaning` does."""
    return meaning(name, has_cutoff, text)[0]


def is_known(name: str) -> bool:
    """Whether some metric has ``name``, with a cut-off at least."""
    key = names.looked_up(name)
    return key in CATALOG or any(each in table for each in (key, f"{key}@") for table in (_ALIASES, names.ALIASES))
