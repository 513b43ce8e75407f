"""Two roles that no metric has, in the table of roles, and a metric that reads them."""

from __future__ import annotations

import dataclasses

import pyarrow as pa
import pytest

from sparkrank.inputs import role_table as columns
from sparkrank.inputs.request_plan import plan_request
from sparkrank.inputs.role_table import BadRow, Role
from sparkrank.inputs.roles import Roles
from sparkrank.metrics import Definitions, Plan
from sparkrank.metrics.metric import CATALOG

NAN_EXPOSURE = "rejected: NaN exposure"
_BAD = BadRow(NAN_EXPOSURE, "nan", always=False)
FAKE = (
    Role("sub topic", ("plain",), "item", "subtopic"),
    Role("exposure", ("number",), "float", "exposure", side="lists", bad=(_BAD,)),
)
LOG = pa.table(
    {
        "user": ["a", "a", "b", "b"],
        "item": ["x", "y", "x", "y"],
        "score": [0.5, 0.25, 0.75, 0.5],
        "label": [0, 1, 1, 0],
        "topic": [7, None, 8, 9],
        "chance": [0.5, 0.25, float("nan"), 1.0],
    }
)
NAMED = {"subtopic": "topic", "exposure": "chance"}


def add_fake_roles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rows more in the table, and ``rr``, which reads both columns."""
    monkeypatch.setattr(columns, "ROW_ROLES", (*columns.ROW_ROLES, *FAKE))
    monkeypatch.setitem(CATALOG, "rr", dataclasses.replace(CATALOG["rr"], columns=("subtopic", "exposure")))


def asked(metric: str = "rr", **named: str) -> tuple[Roles, Plan]:
    return plan_request(Roles.of("user", "label", "score", **named), [metric], Definitions())
