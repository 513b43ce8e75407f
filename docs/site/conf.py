"""Sphinx's configuration. The source folder is the project itself, so that pages keep their paths and their links."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT))

import sparkrank  # noqa: E402 - found by the line above
from docs.site.contents import INDEX_PAGES, ROOT, with_toctrees  # noqa: E402
from sparkrank import functions  # noqa: E402

project = "sparkrank"
author = "the authors of sparkrank"
version = release = sparkrank.__version__
language = "en"
(REPOSITORY,) = re.findall(
    r'^Repository = "(.*)"$', (PROJECT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE
)

root_doc = ROOT
include_patterns = ["docs/**.md", "docs/**.rst", "CHANGELOG.md", "benchmarks/README.md"]
# Folders without pages, which Sphinx then does not search.
exclude_patterns = [".*", "build", "conf", "dist", "demo", "docs/printers", "docs/site", "examples", "jobs", "scripts"]
exclude_patterns += ["sparkrank", "tests", "*.egg-info", "benchmarks/[!R]*"]

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 6
# The notebooks of docs/tutorials/ are executed, each in a folder of its own; a cell that fails ends the build.
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_output_stderr = "remove"  # what Java says of the machine, and warnings
suppress_warnings = ["mystnb.unknown_mime_type"]  # of charts as Vega-Lite; they are SVG, too
nitpicky = True
nitpick_ignore_regex = [
    ("py:class", r"(?!sparkrank\.).*"),  # words in the types of numpydoc sections, such as "mapping of str to str"
    ("py:(attr|data)", r"\w+"),  # fields and constants without a docstring of their own
    ("py:.*", r"sparkrank\.(?!functions|metrics|ml)\w+\.\w+(\.\w+)*"),  # rooms that are not public
]

autodoc_typehints = "none"  # the numpydoc sections have the types, in words
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"sparkrank {version}"
html_copy_source = False
html_show_sphinx = False
html_favicon = "icon.svg"
html_extra_path = ["index.html"]  # leads to the first page
linkcheck_ignore = [rf"{re.escape(REPOSITORY)}/"]  # paths in the repository are checked as files


def read_source(_app: Sphinx, docname: str, source: list[str]) -> None:
    """Give the index pages their toctrees, and the page of functions every metric that is one."""
    if docname in INDEX_PAGES:
        source[0] = with_toctrees(docname, source[0])
    if docname == "docs/api/functions":
        names = sorted({*dir(functions)} - {*functions.__all__})
        source[0] += "".join(f"\n.. autofunction:: sparkrank.functions.{name}\n" for name in names)


def keep_anchors(_app: Sphinx, document: nodes.document) -> None:
    """Give each heading the anchor that it has in the repository, beside the one that docutils makes."""
    for section in document.findall(nodes.section):
        slug = section.get("slug")
        if slug and slug not in section["ids"]:
            section["ids"].append(slug)


def link_to_repository(app: Sphinx, document: nodes.document) -> None:
    """Turn links to files that are no pages of the site into links to the repository."""
    folder = (PROJECT / app.env.docname).parent
    for link in list(document.findall(addnodes.download_reference)):
        file = (folder / link["reftarget"]).resolve()
        if not file.exists() or file.suffix == ".ipynb":
            continue  # Sphinx then warns; an executed notebook is a file of the site
        path = file.relative_to(PROJECT).as_posix()
        address = f"{REPOSITORY}/{'tree' if file.is_dir() else 'blob'}/main/{path}"
        link.replace_self(nodes.reference("", "", *link.children, refuri=address, internal=False))


def shorten_signature(
    _app: Sphinx, what: str, name: str, described: Any, _options: object, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Leave out what hides the names: long defaults of a declaration's fields, and arguments that all metrics have."""
    shared = {*inspect.signature(functions.metric).parameters} - {"score", "label"}
    if what == "function" and name.startswith("sparkrank.functions.") and described.__name__ not in functions.__all__:
        own = [f"{each}=None" for each in inspect.signature(described).parameters if each not in shared]
        named = ["*", *own[2:]] if own[2:] else []
        return f"({', '.join([*own[:2], *named, '**options'])})", "Column"
    if what != "class" or not dataclasses.is_dataclass(described):
        return signature, returns
    given = [(each.name, each.default) for each in inspect.signature(described).parameters.values()]
    texts = {field: "" if default is inspect.Parameter.empty else f"={default!r}" for field, default in given}
    return f"({', '.join(field + (text if len(text) < 24 else '=...') for field, text in texts.items())})", returns


def keep_bars(_app: Sphinx, what: str, name: str, _described: Any, _options: object, lines: list[str]) -> None:
    """Keep the bars of formulas, such as |s - y|, which mean something else to Sphinx."""
    if what == "function" and name.startswith("sparkrank.functions."):
        lines[:] = [line.replace("|", r"\|") for line in lines]


def plain_words(_app: Sphinx, document: nodes.document) -> None:
    """Take the links from words in the types of numpydoc sections that are no classes, such as "items" of an array."""
    for link in list(document.findall(addnodes.pending_xref)):
        if link.get("refdomain") == "py" and link["reftype"] == "class" and link["reftarget"].islower():
            link.replace_self(link.children)


def give_roles(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], _document: nodes.document | None
) -> None:
    """Say what assistive technology asks for: the level of captions, and that blocks of code scroll by keyboard."""
    for name in ("furo_navigation_tree", "body"):
        html = context.get(name) or ""
        html = html.replace('role="heading"', 'role="heading" aria-level="2"').replace("<pre>", '<pre tabindex="0">')
        context[name] = html


def public_name(app: Sphinx, env: Any, node: addnodes.pending_xref, text: nodes.Element) -> nodes.Element | None:
    """Resolve a name of ``sparkrank.metrics`` that the page of ``sparkrank`` describes."""
    name = node["reftarget"].removeprefix("sparkrank.metrics.")
    if "." in name or not hasattr(sparkrank, name):
        return None
    domain = env.get_domain("py")
    return domain.resolve_xref(env, node["refdoc"], app.builder, node["reftype"], f"sparkrank.{name}", node, text)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register what the site needs beside the extensions."""
    app.connect("source-read", read_source)
    app.connect("doctree-read", keep_anchors)
    app.connect("doctree-read", link_to_repository, priority=100)
    app.connect("autodoc-process-signature", shorten_signature)
    app.connect("autodoc-process-docstring", keep_bars, priority=900)  # after napoleon's own
    app.connect("doctree-read", plain_words)
    app.connect("html-page-context", give_roles, priority=900)  # after the theme's own
    app.connect("missing-reference", public_name)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
