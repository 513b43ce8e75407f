"""SVG charts to embed in a page.

The charts are a third of the size of the drawing library's output, with CSS classes for colours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from xml.etree import ElementTree as ET

_DEFAULTS = {
    "opacity": "1",
    "stroke-width": "1",
    "fill-opacity": "1",
    "stroke-opacity": "1",
    "stroke-miterlimit": "10",
    "font-weight": "normal",
    "font-size": "11px",
    "text-anchor": "start",
    "stroke-dasharray": "1,0",
}
_SAID_ELSEWHERE = ("aria-hidden", "aria-label", "aria-roledescription", "role", "class", "pointer-events")
_ALWAYS_GONE = {*_SAID_ELSEWHERE, "font-family", "version", "width", "height", "style"}
_NUMBERS = ("d", "transform", "x", "y", "x1", "x2", "y1", "y2", "r", "points")
_LONG = re.compile(r"-?\d+\.\d{2,}(?:e-?\d+)?")
_LINK_TO_ID = re.compile(r"url\(#([^)]*)\)")
_NOWHERE = ("", "translate(0,0)", "translate(0, 0)")


def inline_svg(svg: str, ident: str, colours: Mapping[str, str], described_by: str = "") -> str:
    """Return the drawing library's SVG as an element of an HTML page, without a namespace.

    All IDs in the result begin with ``ident``. ``colours`` maps colours to CSS classes. A fill gets the class itself,
    and a stroke gets the class prefixed with ``s``. ``described_by`` contains the IDs of elements that describe the
    chart.

    Examples
    --------
    >>> inline_svg('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><g><path class="a" d="M0.123,1" '
    ...            'fill="#0072B2"/></g></svg>', "c", {"#0072b2": "c0"})
    '<svg viewBox="0 0 9 9" role="img"><path d="M0.1,1" class="c0" /></svg>'
    """
    root = ET.fromstring(svg)  # noqa: S314 - trusted, from the library
    ids: dict[str, str] = {}
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        if "id" in element.attrib:
            ids[element.attrib["id"]] = f"{ident}-{len(ids)}"
    for element in root.iter():
        _slim(element, ids, colours)
    _prune(root)
    root.set("role", "img")
    names = described_by.split()
    if names:
        root.set("aria-labelledby", names[0])
    if len(names) > 1:
        root.set("aria-describedby", " ".join(names[1:]))
    return ET.tostring(root, encoding="unicode")


def _slim(element: ET.Element, ids: Mapping[str, str], colours: Mapping[str, str]) -> None:
    kept: dict[str, str] = {}
    classes = []
    for name, value in element.attrib.items():
        if name in _ALWAYS_GONE or _DEFAULTS.get(name) == value:
            continue
        if name in {"fill", "stroke"} and value.lower() in colours:
            classes.append(f"{'s' if name == 'stroke' else ''}{colours[value.lower()]}")
        elif name == "id":
            kept[name] = ids[value]
        elif name in _NUMBERS:
            kept[name] = _LONG.sub(_rounded, value)
        else:
            kept[name] = _LINK_TO_ID.sub(lambda link: f"url(#{ids.get(link[1], link[1])})", value)
    if kept.get("transform") in _NOWHERE:
        del kept["transform"]
    if classes:
        kept["class"] = " ".join(classes)
    element.attrib.clear()
    element.attrib.update(kept)


def _rounded(number: re.Match[str]) -> str:
    text = f"{float(number[0]):.1f}"
    return text.removesuffix(".0") if text != "-0.0" else "0"


def _prune(element: ET.Element) -> None:
    children = []
    for child in element:
        _prune(child)
        if child.tag == "g" and not child.attrib:
            children += list(child)
        elif not _draws_nothing(child):
            children.append(child)
    element[:] = children


def _draws_nothing(element: ET.Element) -> bool:
    if element.tag == "path":
        painted = {"fill", "stroke", "class"} & element.attrib.keys()
        return element.get("display") == "none" or not element.get("d") or not painted
    return element.tag == "g" and not len(element)
