"""Functions for single metrics, with a signature and a docstring from the metric's declaration."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from keyword import iskeyword
from typing import Any

from sparkrank.base.errors import SpecError, quote
from sparkrank.doors.keywords import refuse_unknown
from sparkrank.functions.function_examples import example_of
from sparkrank.metrics import Declaration, GroupMetric
from sparkrank.metrics.parameters import Parameter, format_number

TEXT = "text"  # the argument of the general function that is replaced by the name of a metric


def text_of(name: str, k: object, parameters: Mapping[str, object]) -> str:
    """Return the text of a metric, such as ``ap(over=r)@10``, from its name, cut-off ``k`` (or None) and parameters."""
    if k is not None and (isinstance(k, bool) or not isinstance(k, int)):
        raise SpecError(f"k is {quote(k)}: a whole number is needed")
    given = [_written(key, value) for key, value in parameters.items() if value is not None and value is not False]
    return name + (f"({','.join(given)})" if given else "") + ("" if k is None else f"@{k}")


def _written(name: str, value: object) -> str:
    if value is True:
        return name
    if isinstance(value, (list, tuple)):
        return f"{name}=[{','.join(map(str, value))}]"
    return f"{name}={format_number(value) if isinstance(value, (int, float)) else value}"


def metric_function(
    name: str, declaration: Declaration, at_k: Declaration, general: Callable[..., Any], module: str
) -> Callable[..., Any]:
    """Return a function ``name`` that calls ``general`` with the metric of ``declaration`` or, for a k, of ``at_k``."""
    arguments = inspect.signature(general).parameters
    parameters = own_parameters(at_k, arguments) | own_parameters(declaration, arguments)
    has_cutoff = at_k.cutoff == "optional" or at_k.at is not None

    def function(*given: Any, **named: Any) -> Any:
        cutoff = named.pop("k", None) if has_cutoff else None
        inside = {key: named.pop(key) for key in (*parameters,) if key in named}
        refuse_unknown(name, named, signature)
        return general(text_of(name, cutoff, inside), *given, **named)

    keyword = inspect.Parameter.KEYWORD_ONLY
    columns = [argument for key, argument in arguments.items() if key != TEXT and argument.kind != keyword]
    rest = [argument for argument in arguments.values() if argument.kind == keyword]
    own = [inspect.Parameter("k", keyword, default=None, annotation="int | None")] if has_cutoff else []
    for key, parameter in parameters.items():
        if iskeyword(key):  # no argument of Python may have this name
            continue
        annotation = "bool | None" if parameter.is_flag else "str | float | None"
        own.append(inspect.Parameter(key, keyword, default=None, annotation=annotation))
    signature = inspect.Signature([*columns, *own, *rest], return_annotation="Column")
    function.__signature__ = signature  # type: ignore[attr-defined] # what inspect reads
    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = _doc(name, declaration, parameters, has_cutoff)
    return function


def own_parameters(declaration: Declaration, arguments: Mapping[str, object]) -> dict[str, Parameter]:
    """Return the parameters of a metric, by name, that its function has in addition to the general ``arguments``."""
    return {
        parameter.name: parameter
        for parameter in declaration.parameters
        if parameter.name not in arguments and parameter.name.isidentifier()
    }


def _in_text(declaration: Declaration, parameters: Mapping[str, Parameter]) -> list[str]:
    """Return the lines about parameters of the metric whose names are those of other arguments."""
    names = [f"``{each.name}``" for each in declaration.parameters if each.name not in parameters]
    if not names:
        return []
    own = " and ".join(names)
    return ["", f"The metric's own {own} can only be set in its text, with :func:`sparkrank.functions.metric`."]


def _doc(name: str, declaration: Declaration, parameters: Mapping[str, Parameter], has_cutoff: bool) -> str:
    rows = "a list" if isinstance(declaration, GroupMetric) else "all rows together"
    lines = [
        f"{declaration.title[:1].upper()}{declaration.title[1:]}, of {rows}, as a column.",
        "",
        f"{declaration.formula}. Undefined, and then null, where: {declaration.undefined}.",
        *_in_text(declaration, parameters),
        "",
        "Parameters",
        "----------",
        "score, label : Column or str",
        "    As for :func:`sparkrank.functions.metric`, which has the other arguments, too.",
    ]
    if has_cutoff:
        lines += ["k : int, optional", "    The cut-off; without it the whole list."]
    for key, parameter in parameters.items():
        has_default = parameter.default is not None and not parameter.is_flag
        default = f" By default {parameter.write(parameter.default)}." if has_default else ""
        allowed = "bool" if parameter.is_flag else parameter.allowed
        lines += [f"{key} : {allowed}, optional", f"    {parameter.doc}.{default}"]
    lines += ["", "Returns", "-------", "Column", f"    Doubles, under the text of the metric, as ``{name}``."]
    lines += example_of(name, declaration.cutoff == "optional")
    return "\n".join(lines)
