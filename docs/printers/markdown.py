"""Markdown of the declarations: the table of docs/metrics.md, and the sections of docs/definitions.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sparkrank.metrics.metric import Declaration, NeedsOrder
from sparkrank.metrics.parameters import TIES, Choice, Name, Parameter
from sparkrank.text.text import order_text, range_text

NO_INTERVAL = "- No interval: [why](uncertainty.md#values-that-chance-makes-larger)"
_BETTER = {True: "Higher is better", False: "Lower is better", None: "Neither higher nor lower is better"}


def markdown_table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table with a row for each of ``lines``."""
    rule = "|" + "---|" * len(head)
    return "\n".join([_table_row(head), rule, *map(_table_row, lines)])


def _table_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def declarations_markdown(declarations: Iterable[Declaration]) -> str:
    """The table of docs/metrics.md."""
    head = ("metric", "definition", "parameters (default first)", "undefined when", "reference")
    return markdown_table(head, map(_declaration_cells, declarations))


def _declaration_cells(declaration: Declaration) -> tuple[str, ...]:
    parameters = ", ".join(_signature(declaration)) or "none"
    meaning = f"{declaration.title}: {declaration.formula}{_order(declaration.needs_order)}"
    return (_names(declaration), meaning, parameters, declaration.undefined, declaration.reference)


def _order(needs: NeedsOrder | None) -> str:
    """What the table says of a metric that the default setting of ties rules out."""
    if needs is None:
        return ""
    form = f"`{needs.form}` " if needs.form else ""
    return f"; {form}uses `ties=item` by default"


def _names(declaration: Declaration) -> str:
    name = declaration.written
    return f"`{name}`" if declaration.cutoff == "none" else f"`{name}`, `{name}@k`"


def declaration_markdown(declaration: Declaration) -> str:
    """A section that holds all of one declaration."""
    lines = [
        f"### {_names(declaration)}",
        "",
        f"{_capital(declaration.title)}.",
        "",
        f"> {declaration.formula}",
        "",
        *(f"- {parameter_markdown(each)}" for each in declaration.parameters),
        *_untied(declaration),
        f"- Undefined: {declaration.undefined}",
        f"- Range: {range_text(declaration)}",
        *([f"- {_capital(order_text(declaration.needs_order))}"] if declaration.needs_order else []),
        f"- {_BETTER[declaration.higher_is_better]}",
        *([NO_INTERVAL] if declaration.interval == "none" else []),
        *_aliases(declaration),
        f"- Reference: {declaration.reference}",
    ]
    return "\n".join(lines)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _untied(declaration: Declaration) -> Iterator[str]:
    """Why a metric of groups takes no rule for tied rows, if it takes none."""
    reason = dict(declaration.refused).get(TIES.name)
    if declaration.is_averaged and reason is not None:
        yield f"- No `{TIES.name}=`: {reason}"


def parameter_markdown(parameter: Parameter) -> str:
    """A parameter, what it takes, its default and what it means."""
    if parameter.is_flag:
        return f"`{parameter.name}`: {parameter.doc}"
    words = isinstance(parameter, (Choice, Name))
    typed = f"`{parameter.name}={parameter.allowed}`" if words else f"`{parameter.name}=`, {parameter.allowed}"
    default = "none" if parameter.default is None else f"`{parameter.write(parameter.default)}`"
    return f"{typed} (default {default}): {parameter.doc}"


def _aliases(declaration: Declaration) -> Iterator[str]:
    """One line, or none; an alias that ends in @ needs a cut-off."""
    if declaration.aliases:
        written = (alias + "k" if alias.endswith("@") else alias for alias in declaration.aliases)
        yield f"- Also: {', '.join(f'`{alias}`' for alias in written)}"


def _signature(declaration: Declaration) -> Iterable[str]:
    for parameter in declaration.parameters:
        if parameter.is_flag:
            yield f"`{parameter.name}`"
        elif parameter.default is None:
            yield f"`{parameter.name}=`"
        else:
            others = [word for word in parameter.allowed.split("|") if word != parameter.default]
            rest = "".join(f"|{word}" for word in others) if isinstance(parameter.default, str) else ""
            yield f"`{parameter.name}={parameter.write(parameter.default)}{rest}`"
