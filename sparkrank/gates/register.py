"""The register of the kinds of gates."""

from __future__ import annotations

from collections.abc import Collection

from sparkrank.gates.bounds import Max, Min
from sparkrank.gates.history import AsBefore
from sparkrank.gates.kind import GateKind
from sparkrank.gates.margins import Equivalent, NotWorse

KINDS: dict[str, GateKind] = {kind.name: kind for kind in (Min(), Max(), NotWorse(), Equivalent(), AsBefore())}


def words() -> dict[str, GateKind]:
    """The keys by which a gate in the spec asks for a kind, each with its kind."""
    return {kind.word: kind for kind in KINDS.values() if kind.value is None}


def kind_asked_by(word: str, value: object, names: Collection[str]) -> GateKind:
    """The kind that ``value`` under the key ``word`` asks for. A model's name takes precedence (``names``)."""
    special = [kind for kind in KINDS.values() if kind.word == word and kind.value == value and value not in names]
    return special[0] if special else words()[word]
