"""A cache for methods: the results live as long as the object, one for each set of arguments.

``functools.cache`` would keep every bucket alive in a global table. Here the results go with the object.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def cached(method: Callable[P, R]) -> Callable[P, R]:
    """Call ``method`` once for each set of (hashable, positional) arguments and object."""

    @functools.wraps(method)
    def once(*args: P.args, **kwargs: P.kwargs) -> R:
        owner: Any = args[0]
        memory: dict[object, R] = owner.__dict__.setdefault("_cached", {})
        # The key is the function, since two may share a name: the wrapped one, which pickle finds in its module.
        key = (once, args[1:], tuple(kwargs.items()))
        if key not in memory:
            memory[key] = method(*args, **kwargs)
        return memory[key]

    return once


def drop_cached(owner: object) -> None:
    """Drop the cached results of ``owner``.

    A result may refer to its owner, as the hits of a ranking refer to their ranking. Python frees such a cycle only
    when its collector next looks at old objects, and until then evaluated buckets pile up in memory.
    """
    owner.__dict__.pop("_cached", None)
