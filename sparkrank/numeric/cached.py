"""A cache of the results of an object's methods, freed with the object. ``functools.cache`` would keep it alive."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def cached(method: Callable[P, R]) -> Callable[P, R]:
    """Return ``method`` in a form that runs only once per object and (hashable) arguments."""

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
