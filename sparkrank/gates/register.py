"""The register of gate kinds."""

from __future__ import annotations

from collections.abc import Collection

from sparkrank.gates.bounds import Max, Min
from sparkrank.gates.history import AsBefore
from sparkrank.gates.kind import GateKind
from sparkrank.gates.margins import Equivalent, NotWorse

KINDS: dict[str, GateKind] = {kind.name: kind for kind in (Min(), Max(), NotWorse(), Equivalent(), AsBefore())}


def words() -> dict[str, GateKind]:
    """Return the gate kinds by the key that selects them in a spec, such as ``min``."""
    return {kind.word: kind for kind in KINDS.values() if kind.value is None}


def kind_in_spec(word: str, value: object, names: Collection[str]) -> GateKind:
    """Return the gate kind for ``word: value`` in a spec.

    A ``value`` among the model names ``names`` always means that model.
    """
    special = [kind for kind in KINDS.values() if kind.word == word and kind.value == value and value not in names]
    return special[0] if special else words()[word]
