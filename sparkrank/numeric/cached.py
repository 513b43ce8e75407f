"""A cache of method results that is freed with the object. ``functools.cache`` would keep the object alive."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def cached(method: Callable[P, R]) -> Callable[P, R]:
    """Return ``method`` in a form that each object calls only once for the same (hashable) arguments."""

    @functools.wraps(method)
    def once(*args: P.args, **kwargs: P.kwargs) -> R:
        owner: Any = args[0]
        memory: dict[object, R] = owner.__dict__.setdefault("_cached", {})
        # The key contains the function because two methods may have the same name, and it is the decorated function
        # because pickle can find that in its module.
        key = (once, args[1:], tuple(kwargs.items()))
        if key not in memory:
            memory[key] = method(*args, **kwargs)
        return memory[key]

    return once


def drop_cached(owner: object) -> None:
    """Drop the cached results of ``owner``.

    Otherwise, results that refer to ``owner`` live until garbage collection.
    """
    owner.__dict__.pop("_cached", None)
