"""The register of declarations by name and alias, filled by :mod:`sparkrank.metrics.families` and by users."""

from __future__ import annotations

from typing import Protocol, TypeVar

from sparkrank.base.errors import MetricError, did_you_mean, itemize
from sparkrank.metrics import aliases as names


class Named(Protocol):
    """An object with a name and aliases. An alias that ends in ``@`` is valid only with a cut-off.

    If ``called`` is given, users type ``called`` instead of ``name``.
    """

    @property
    def name(self) -> str: ...

    @property
    def aliases(self) -> tuple[str, ...]: ...

    @property
    def called(self) -> str | None: ...


D = TypeVar("D", bound=Named)


class Catalog(dict[str, D]):
    """A dictionary from names (not aliases) to declarations, in the order in which the metrics are documented."""

    def __init__(self) -> None:
        super().__init__()
        self._built_in: dict[str, D] = {}
        self._aliases: dict[str, str] = {}

    def fill(self, *declarations: D) -> None:
        """Add ``declarations`` of the package, which exist in every process."""
        for declaration in declarations:
            self._built_in[declaration.name] = declaration
            self.add(declaration)

    def add(self, declaration: D) -> None:
        """Register ``declaration`` under its name and its aliases, which must not belong to another declaration."""
        self[declaration.name] = declaration
        self._aliases.update(dict.fromkeys(declaration.aliases, declaration.name))

    def remove(self, name: str) -> None:
        for alias in self.pop(name).aliases:
            del self._aliases[alias]

    def built_in(self, name: str) -> D:
        return self._built_in[name]

    def is_built_in(self, declaration: D) -> bool:
        """Return whether ``declaration`` belongs to the package, so that every process can find it by its name."""
        return self._built_in.get(declaration.name) is declaration

    def meaning(self, name: str, has_cutoff: bool, text: str) -> tuple[D, str]:
        """Return the declaration called ``name``, and the parameters implied by ``name`` (as one string).

        ``name`` is a name or an alias, in upper or lower case. Raise :class:`MetricError` if ``name`` is unknown or
        needs a cut-off; the message quotes ``text``, the string of the whole metric.
        """
        key = names.looked_up(name)
        if has_cutoff and f"{key}@" in self._aliases:
            return self[self._aliases[f"{key}@"]], ""
        if key in self:
            return self[key], ""
        if key in self._aliases:
            return self[self._aliases[key]], ""
        elsewhere = names.translation(name, has_cutoff)
        if elsewhere is not None:
            return self[elsewhere[0]], elsewhere[1]
        if f"{key}@" in self._aliases:
            raise MetricError(
                f'"{text}" needs a cut-off: write {key}@k, or {self._aliases[f"{key}@"]} for the whole list'
            )
        if (cut := names.needs_cutoff(name)) is not None:
            raise MetricError(f'"{text}" needs a cut-off: write {cut}@k')
        typed = [own for own, declaration in self.items() if declaration.called is None]
        known = [*typed, *(alias.rstrip("@") for alias in (*self._aliases, *names.ALIASES))]
        raise MetricError(f'unknown metric "{name}" in "{text}"{did_you_mean(key, known)} (known: {itemize(typed)})')

    def find(self, name: str, has_cutoff: bool, text: str) -> D:
        """Return the declaration called ``name``. Raise :class:`MetricError` in the same cases as :meth:`meaning`."""
        return self.meaning(name, has_cutoff, text)[0]

    def is_known(self, name: str) -> bool:
        """Return whether ``name`` is the name or an alias of a metric, with or without a cut-off."""
        key = names.looked_up(name)
        return key in self or any(
            word in table for word in (key, f"{key}@") for table in (self._aliases, names.ALIASES)
        )
