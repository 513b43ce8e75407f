"""Where the definition of a metric stands on the page ``docs/definitions.md``."""

from __future__ import annotations

import re

from sparkrank.metrics.metric import CATALOG, Declaration

DEFINITIONS = "https://github.com/sparkrank/sparkrank/blob/main/docs/definitions.md"


def link_of(declaration: Declaration) -> str | None:
    """The address of the section of ``declaration``; None of a metric that somebody else has registered.

    Parameters
    ----------
    declaration : Declaration
        The metric.

    Returns
    -------
    str or None
        The page and the anchor that GitHub gives to the section's heading.
    """
    if not CATALOG.is_built_in(declaration):
        return None
    heading = declaration.name if declaration.cutoff == "none" else f"{declaration.name}, {declaration.name}@k"
    return f"{DEFINITIONS}#{re.sub(r'[^a-z0-9_ -]', '', heading.lower()).replace(' ', '-')}"
