"""Lists of the files at a path, or at a pattern by Hadoop's rules, on any file system that Arrow can open."""

from __future__ import annotations

import functools
import itertools
import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import parse_qsl, quote

from pyarrow import fs

from sparkrank.base.errors import InputError, SpecError, shorten
from sparkrank.base.redaction import HIDDEN, shown_url
from sparkrank.sources.integrity import Stamp, stamp_of, stamps_of
from sparkrank.sources.lakes import LakeTable, tables_above, tables_among, ways_of

_MARKS = frozenset("*?[]{}\\")
_MARK = re.compile(r"\\(.)|\[([!^]?)((?:\\.|[^\]\\])+)\]|(.)", re.DOTALL)
_MOST = 1000  # the most alternatives from braces that contain slashes


def is_pattern(path: str) -> bool:
    """Return whether ``path`` contains wildcards or other special characters, and so means all matching files."""
    return not _MARKS.isdisjoint(path)


def escaped(path: str) -> str:
    """Return a pattern that matches only ``path`` itself."""
    return "".join(f"\\{letter}" if letter in _MARKS else letter for letter in path)


def alternatives(path: str) -> list[list[str]]:
    """Expand the braces that contain slashes in all ways, and split each of the resulting paths at its slashes."""
    paths = list(itertools.islice(_without_slashes_in_braces(path), _MOST + 1))
    if len(paths) > _MOST:
        raise SpecError(
            f"the braces of the path {without_password(path)} stand for more than {_MOST} paths: name fewer"
        )
    return [one.split("/") for one in dict.fromkeys(paths)]


def fixed_parts(pattern: Sequence[str]) -> list[str]:
    """Return the literal parts before the first part of ``pattern`` with a wildcard, without backslashes."""
    texts: list[str] = []
    for part in pattern:
        text = re.sub(r"\\(.)", r"\1", part)
        if is_pattern(re.sub(r"\\.", "", part)):
            break
        texts.append(text)
    return texts


def matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether ``pattern`` matches the path of ``parts``, or a folder above it. Wildcards match no slash."""
    return len(parts) >= len(pattern) and all(
        _compiled(wanted).fullmatch(part) is not None for part, wanted in zip(parts, pattern, strict=False)
    )


def _without_slashes_in_braces(path: str) -> Iterator[str]:
    """Yield every expansion of the braces in ``path`` that contain a slash. Other braces are left unchanged."""
    depth, cuts, has_slash = 0, list[int](), False
    for mark in re.finditer(r"\\.|[{},/]", path, re.DOTALL):
        letter, place = mark[0], mark.start()
        if letter == "{":
            depth += 1
            cuts, has_slash = ([place], False) if depth == 1 else (cuts, has_slash)
        elif depth and letter == "/":
            has_slash = True
        elif depth and letter in ",}":
            cuts += [place] if depth == 1 else []
            depth -= letter == "}"
            if not depth and has_slash:
                for first, last in itertools.pairwise(cuts):
                    yield from _without_slashes_in_braces(path[: cuts[0]] + path[first + 1 : last] + path[place + 1 :])
                return
    yield path


@functools.lru_cache(maxsize=1024)
def _compiled(part: str) -> re.Pattern[str]:
    """Return one part of a path pattern as a regular expression. Raise :class:`SpecError` if the part is malformed."""
    braces = 0

    def regex(mark: re.Match[str]) -> str:
        nonlocal braces
        plain, negation, letters, letter = mark.groups()
        if letters:
            inside = re.sub(r"\\(.)|([^-])", lambda one: re.escape(one[1] or one[2]), letters, flags=re.DOTALL)
            return f"[{negation and '^'}{inside}]"
        if letter == "{":
            braces += 1
            return "(?:"
        if letter and letter in ",}" and braces:
            braces -= letter == "}"
            return "|" if letter == "," else ")"
        return {"*": ".*", "?": ".", "[": "["}.get(letter) or re.escape(plain or letter)

    try:
        return re.compile(_MARK.sub(regex, part), re.DOTALL)
    except re.error:
        raise SpecError(
            f'"{part[:200]}" in a path is not a pattern: its brackets or braces do not close, and a backslash before '
            "them takes them as they are"
        ) from None


_COPIED = "._COPYING_"  # the suffix of a file name while Hadoop copies the file
_FOLDER = "_$folder$"  # the suffix of an object of 0 bytes with which Hadoop marks a folder in S3
_SETTINGS = re.compile(r"\?(?=\w+=)")
_TO_NOTHING = -1  # in place of the size of a broken link
S3_CONNECT_SECONDS, S3_REQUEST_SECONDS = 10.0, 30.0  # the longest time without a byte
S3_ATTEMPTS = 5  # the pause before each attempt is twice as long
SCHEMES = {"s3a": "s3", "s3n": "s3"}  # Hadoop's names for what Arrow calls s3


def file_system(path: str) -> tuple[fs.FileSystem, str]:
    """Return the file system of ``path`` and the path in it. ``path`` is not percent-encoded, and may have settings."""
    scheme, separator, rest = path.partition("://")
    if not separator or scheme.lower() == "file":
        return fs.LocalFileSystem(), os.path.normpath(
            Path(rest if separator else path.removeprefix("file:")).absolute()
        )
    place, *settings = _SETTINGS.split(rest, maxsplit=1)
    host, slash, inside = place.partition("/")
    scheme = scheme.lower()
    uri = "?".join([f"{SCHEMES.get(scheme, scheme)}://{host}{slash}{quote(inside)}", *settings])
    store, inside = fs.FileSystem.from_uri(uri)
    return _patient(store), inside.rstrip("/")


def _patient(store: fs.FileSystem) -> fs.FileSystem:
    """Return ``store``, with sparkrank's timeouts if it is S3. A request that stalls is then ended and sent again."""
    if not isinstance(store, fs.S3FileSystem):
        return store
    _, (options,) = store.__reduce__()
    options |= {"connect_timeout": S3_CONNECT_SECONDS, "request_timeout": S3_REQUEST_SECONDS}
    patient: fs.FileSystem = type(store)(**options, retry_strategy=fs.AwsStandardS3RetryStrategy(S3_ATTEMPTS))
    return patient


def settings_of(path: str) -> dict[str, str]:
    """Return the settings after the question mark of ``path``. An endpoint of S3 becomes a URL, as libraries need it.

    Examples
    --------
    >>> settings_of("s3://lake/x?endpoint_override=host:9000&scheme=http")
    {'endpoint_override': 'http://host:9000', 'scheme': 'http'}
    """
    settings = dict(parse_qsl(path.partition("?")[2]))
    if endpoint := settings.get("endpoint_override"):
        scheme, mark, host = endpoint.rpartition("://")
        settings["scheme"] = settings.get("scheme") or scheme or "https"
        settings["endpoint_override"] = endpoint if mark else f"{settings['scheme']}://{host}"
    return settings


def without_password(path: str) -> str:
    """Return ``path`` in the form for messages, without credentials for the file system."""
    return shorten(shown_url(path).replace(f"://{HIDDEN}@", "://"))


def store_of(path: str, inside: str) -> str | None:
    """Return the text before ``inside`` in ``path``, such as ``hdfs://host:8020``, or None if it is unknown.

    For a local path, the text is ``file:``.
    """
    scheme, separator, _ = path.partition("://")
    if not separator or scheme.lower() == "file":
        return "file:"
    place = _SETTINGS.split(path, maxsplit=1)[0].rstrip("/")
    return place.removesuffix(inside) if place.endswith(inside) else None


@dataclass(frozen=True)
class Listing:
    """The list of the visible ``files`` at a path, ordered by name.

    ``roots`` maps each file to the file or folder that the path itself names. ``base`` is the path if it is a folder;
    names of folders inside it give columns. ``tables`` lists the lake tables that contain the path or some of the
    files. ``lost`` maps incomplete or missing files to reasons; if there are any, read no file. ``shortly`` contains
    the same files, with the name of a folder in place of all its files. ``stamps`` contains sizes and times of files.
    """

    files: tuple[str, ...]
    roots: tuple[str, ...]
    base: str | None = None
    tables: tuple[LakeTable, ...] = ()
    lost: tuple[tuple[str, str], ...] = ()
    shortly: tuple[str, ...] = ()
    stamps: Mapping[str, Stamp] = field(default_factory=dict)

    @classmethod
    def at(cls, store: fs.FileSystem, path: str) -> Listing:
        """Return the list of the files at ``path`` (a file, folder or pattern), perhaps empty. Raise Arrow's errors."""
        patterns = alternatives(path)
        sizes: dict[str, int] = {}
        links: list[str] = []
        stamps: dict[str, Stamp] = {}
        starts = dict.fromkeys(map(_start, patterns))
        for start, whole in starts:
            if whole and (info := store.get_file_info(start)).type == fs.FileType.File:
                sizes[start] = info.size
                stamps[start] = stamp_of(info, store)
                continue
            infos = store.get_file_info(fs.FileSelector(start, recursive=True, allow_not_found=True))
            sizes |= {info.path: info.size for info in infos if info.type == fs.FileType.File}
            stamps |= stamps_of(infos, store)
            if isinstance(store, fs.LocalFileSystem) and Path(start).is_dir():
                links += _links([start, *(info.path for info in infos if info.type == fs.FileType.Directory)])
        # Arrow leaves out broken links
        listing = cls.of(sizes | {link: _TO_NOTHING for link in links if not Path(link).exists()}, patterns)
        ways = set(itertools.chain.from_iterable(map(ways_of, listing.files))) if links else set[str]()
        led = {str(Path(os.path.realpath(link)).parent) for link in links if link in ways}
        above = [*(start for start, _ in starts if listing.files), *(f"{folder}/*" for folder in led)]
        tables = (*listing.tables, *(table for path in above for table in tables_above(store, path)))
        return replace(listing, tables=tables, stamps={file: stamps[file] for file in listing.files if file in stamps})

    @classmethod
    def of(cls, sizes: Mapping[str, int], patterns: Sequence[Sequence[str]]) -> Listing:
        """Return the list of the files of ``sizes`` (bytes by path) that match, or are in a match of, ``patterns``."""
        start, whole = _start(patterns[0])
        named = start if len(patterns) == 1 and whole else None
        starts = [(pattern, len(fixed_parts(pattern))) for pattern in patterns]
        find_root = functools.partial(_seen_below, named) if named else functools.partial(_root_of, starts)
        roots: dict[str, str] = {}
        lost: list[tuple[str, str]] = []
        for file, size in sorted(sizes.items()):
            root = find_root(file)
            if root is None or (not size and file.endswith(_FOLDER)):
                if file.endswith(_COPIED) and find_root(file.removesuffix(_COPIED)):
                    lost.append((file, "still being copied, or left of a copy that broke off"))
                continue
            if size <= 0:
                lost.append((file, "a link to nothing" if size == _TO_NOTHING else "a file of 0 bytes"))
            roots[file] = root
        if list(roots) == [named] and is_hidden(posixpath.basename(start)):
            lost.append((start, "hidden from Spark by its name, which begins with _ or a dot"))
        tables = tuple(
            table
            for table in tables_among(sizes)
            if table.folder == named or any(file.startswith(f"{table.folder}/") for file in roots)
        )
        base = None if list(roots) == [named] else named
        others = {_folder(file) for file in sizes if file not in roots and not is_hidden(posixpath.basename(file))}
        others |= {_folder(start) for start, whole in map(_start, patterns) if whole and start in sizes}
        shortly = [base] if base else [file if _folder(file) in others else _folder(file) for file in roots]
        return cls(tuple(roots), tuple(roots.values()), base, tables, tuple(lost), tuple(dict.fromkeys(shortly)))

    def validate_complete(self) -> None:
        """Raise :class:`InputError` if a file is incomplete or missing, because the day would look empty."""
        for file, reason in self.lost:
            raise InputError(f"{file} is {reason}: write it again, or give it another name or place")


def visible_files(store: fs.FileSystem, folder: str, depth: int) -> list[str]:
    """Return the files below ``folder`` that Spark reads. Path parts before index ``depth`` do not hide a file."""
    infos = store.get_file_info(fs.FileSelector(folder, recursive=True, allow_not_found=True))
    files = [info.path for info in infos if info.type == fs.FileType.File and not info.path.endswith(_FOLDER)]
    return sorted(file for file in files if not any(map(is_hidden, file.split("/")[depth:])))


def _start(pattern: Sequence[str]) -> tuple[str, bool]:
    """Return the literal path with which all matches of ``pattern`` begin, and whether it is the whole pattern."""
    fixed = fixed_parts(pattern)
    return "/".join(fixed) or "/", len(fixed) == len(pattern)


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _links(folders: Iterable[str]) -> list[str]:
    """Return the symbolic links directly in the local ``folders``."""
    links: list[str] = []
    for folder in folders:
        with os.scandir(folder) as inside:
            links += [entry.path for entry in inside if entry.is_symlink()]
    return links


def _root_of(patterns: Sequence[tuple[Sequence[str], int]], file: str) -> str | None:
    """Return the start of the path ``file`` that a pattern matches, or None if no pattern matches a visible file.

    A pattern that names a hidden folder, such as ``*/_v2/*``, makes the folder visible.
    """
    parts = file.split("/")
    for pattern, fixed in patterns:
        if matches(parts, pattern) and not any(
            is_hidden(part) and (place >= min(len(pattern), len(parts) - 1) or pattern[place][:1] != part[0])
            for place, part in enumerate(parts[fixed:], fixed)
        ):
            return "/".join(parts[: len(pattern)])
    return None


def _seen_below(path: str, file: str) -> str | None:
    """Return ``path`` if ``file`` is ``path`` itself or a visible file below it, otherwise None."""
    below = file.removeprefix(f"{path.rstrip('/')}/")
    if file == path or (below != file and not any(map(is_hidden, below.split("/")))):
        return path
    return None


def is_hidden(name: str) -> bool:
    """Return whether Spark skips files and folders called ``name``. Partition columns may begin with an underscore."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith(_COPIED)


def folders_in(store: fs.FileSystem, folder: str) -> list[str]:
    """Return the names of the folders directly in ``folder``, or an empty list if ``folder`` does not exist."""
    is_flat = store.type_name == "gcs"  # its folders are prefixes of names, found by listing all objects below
    infos = store.get_file_info(fs.FileSelector(folder, allow_not_found=True, recursive=is_flat))
    if not is_flat:
        return sorted(info.base_name for info in infos if not info.is_file)
    below = (info.path[len(folder) + 1 :] for info in infos if info.is_file or info.path.endswith("/"))
    return sorted({path.split("/")[0] for path in below if "/" in path})
