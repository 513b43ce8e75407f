"""The kinds of gates that there are."""

from __future__ import annotations

from collections.abc import Mapping

from sparkrank.gates.bounds import Max, Min
from sparkrank.gates.history import AsBefore
from sparkrank.gates.kind import Kind
from sparkrank.gates.margins import Equivalent, NotWorse

KINDS: Mapping[str, Kind] = {kind.name: kind for kind in (Min(), Max(), NotWorse(), Equivalent(), AsBefore())}
