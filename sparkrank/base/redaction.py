"""Removal of secrets from messages and outputs, by a list of harmless options, a URL parser and names of credentials.

The value of an option is hidden unless the option is known to be harmless. In any string, URLs keep only their harmless
settings and no user, and the value after the name of a credential (``password=``) is hidden. A secret without such a
name is not found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

HIDDEN = "***"

# Options of readers whose values only determine how rows are read: for texts, files, lakes and databases.
_HARMLESS = """
header delimiter sep multiline mode encoding charset quote escape comment inferschema samplingratio locale linesep
nullvalue emptyvalue nanvalue positiveinf negativeinf dateformat timestampformat timestampntzformat maxcolumns
maxcharspercolumn chartoescapequoteescaping ignoreleadingwhitespace ignoretrailingwhitespace enforceschema
unescapedquotehandling columnpruning columnnameofcorruptrecord primitivesasstring prefersdecimal allowcomments
allowunquotedfieldnames allowsinglequotes allownumericleadingzeros allownonnumericnumbers dropfieldifallnull
allowbackslashescapinganycharacter allowunquotedcontrolchars enabledatetimeparsingfallback rowtag attributeprefix
valuetag excludeattribute treatemptyvaluesasnulls

compression mergeschema pathglobfilter recursivefilelookup modifiedbefore modifiedafter basepath wholetext
datetimerebasemode int96rebasemode ignorecorruptfiles ignoremissingfiles ignoreextension

versionasof timestampasof snapshot-id as-of-timestamp branch tag split-size lookback fetchsize numpartitions
partitioncolumn lowerbound upperbound isolationlevel querytimeout driver pushdownpredicate pushdownaggregate
pushdownlimit customschema
"""
_HARMLESS_OPTIONS = frozenset(_HARMLESS.split())
_URL_OPTIONS = frozenset(("url", "path", "hosts", "host"))  # shown as URLs
# Settings in the URL of a store, as Arrow reads them.
_SETTINGS_OF_STORES = """
region scheme endpoint_override allow_bucket_creation allow_bucket_deletion anonymous connect_timeout request_timeout
retry_limit_seconds background_writes check_directory_existence_before_creation use_hdfs3 replication buffer_size
default_block_size versionid snapshot ssl sslmode
"""
_HARMLESS_SETTINGS = frozenset(_SETTINGS_OF_STORES.split())
# Schemes with a port after the colon. In other schemes, digits there may be a password.
_WITH_PORTS = frozenset(("hdfs", "webhdfs", "swebhdfs", "viewfs", "ofs", "o3fs", "har", "spark", "thrift", "alluxio"))
_CONTAINERS = frozenset(("abfs", "abfss", "wasb", "wasbs"))  # with a container before the @
_ORACLE = "jdbc:oracle:"

# The bound keeps the search linear in long runs of letters.
_SCHEME = re.compile(rf"{_ORACLE}\w{{1,10}}:|[A-Za-z][A-Za-z0-9+.-]{{0,30}}://")
_CONTAINER = re.compile(r"[\w$-]+@[\w.-]+(?=[:/?#]|\Z)")
_SETTINGS = re.compile(r"[?#;](?=[\w.%$-]+(?:=|%3D))")
_ENDS = ")]}>'\"`,.:;"  # punctuation after a URL or a value in a sentence

# Names of credentials in Hadoop, cloud stores, databases, Snowflake, Kafka and the environment.
_NAMES = (
    r"(?:passw(?:or)?d|passphrase|pwd|secret|token|credential|signature|authorization"
    r"|(?:api|access|account|private|shared|signing|master|storage|encryption|auth)[ _.-]?key"
    r"|(?<![a-z])(?:sig|sas|jwt)(?![a-z]))"
)
_QUOTE = r"\\{0,8}[\"'`]"  # backslashes come from JSON within JSON
# What deltalake writes for a colon: a line end and an arrow in colour, both maybe as escapes.
_BRANCH = r"(?:\s|\\n){1,200}(?:(?:\x1b|\\x1b)\[31m)?↳(?:(?:\x1b|\\x1b)\[0m)?"
_NAMED = re.compile(
    rf"({_NAMES}[\w.$-]{{0,200}}(?:{_QUOTE})?(?:[ \t]{{0,3}}(?:=>|=|:|%3D)|{_BRANCH})[ \t]{{0,3}}(?:{_QUOTE})?"
    r"(?:(?:bearer|basic|negotiate|aws|token)[ \t]+)?)"
    r"((?<=\")[^\"]+|(?<=')[^']+|(?<=`)[^`]+|[^\s\"'`]\S*)",
    re.IGNORECASE,
)
_BEARER = re.compile(r"(\bBearer[ \t]+)([\w.~+/=-]{6,})")  # a token without a name, as servers repeat a header
_IS_SECRET = re.compile(_NAMES, re.IGNORECASE)


def redact(text: str) -> str:
    """Return ``text`` without its secrets: users and settings in URLs, and values after the name of a credential.

    The rest of the text is unchanged. A second call changes nothing.

    Examples
    --------
    >>> redact("cannot read s3a://key:wJal/bPx@bucket/day=1: password='tiger' is wrong")
    "cannot read s3a://***@bucket/day=1: password='***' is wrong"
    >>> redact("https://host/day.parquet?sv=1&sig=abc")
    'https://host/day.parquet?***'
    """
    if _SCHEME.search(text):
        text = "".join(map(_clean_urls, re.split(r"(\s+)", text)))
    for pattern in (_NAMED, _BEARER):
        text = pattern.sub(lambda match: f"{match[1]}{_hide(match[2])}", text)
    return text


def shown_url(url: str) -> str:
    """Return a path or URL in a form that may be shown: without a user, and with only the settings known as harmless.

    Examples
    --------
    >>> shown_url("s3://key:a b/c@bucket/day=1?region=eu&session=x")
    's3://***@bucket/day=1?region=eu&***'
    >>> shown_url("abfss://logs@account.dfs.core.windows.net/day=1")
    'abfss://logs@account.dfs.core.windows.net/day=1'
    """
    return redact(_clean_urls(url))


def has_secret(url: str) -> bool:
    """Return whether a path or URL contains a password, or a setting with the name of a credential.

    Examples
    --------
    >>> [has_secret(url) for url in ("s3a://key:a/b@bucket/x", "https://h/x?sig=abc", "hdfs://host:8020/a@b")]
    [True, True, False]
    """
    if any(":" in _user(scheme, rest) for scheme, rest in _urls(url)):
        return True
    settings = _SETTINGS.split(url, maxsplit=1)[1:] if _SCHEME.search(url) else []
    return any(_IS_SECRET.search(setting) for setting in settings)


def shown_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return reader options in a form that may be shown: harmless values stay, URLs are cleaned, the rest is hidden.

    Examples
    --------
    >>> shown_options({"header": "true", "sfPrivateKey": "x", "url": "jdbc:x://ann:tiger@db:5432/y?user=a"})
    {'header': 'true', 'sfPrivateKey': '***', 'url': 'jdbc:x://***@db:5432/y?***'}
    """
    return {name: _shown_option(name.lower(), value) for name, value in options.items()}


def options_to_hash(options: Mapping[str, str]) -> dict[str, str]:
    """Return options for hashing, not for display. Secrets are replaced by ``***``, as they do not change the rows."""
    return {
        name: HIDDEN if _IS_SECRET.search(name) else _NAMED.sub(rf"\g<1>{HIDDEN}", _clean_urls(value, str))
        for name, value in options.items()
    }


def _shown_option(name: str, value: str) -> str:
    if name in _HARMLESS_OPTIONS:
        return redact(value)
    return shown_url(value) if name in _URL_OPTIONS and "/" in value else HIDDEN


def _hide(value: str) -> str:
    """Return the mark ``***`` in place of ``value``, followed by the punctuation at the end of ``value``."""
    if re.match(r"\*\*\*(?:\W|\Z)", value):  # hidden before
        return value
    return f"{HIDDEN}{value[len(value.rstrip(_ENDS)) :]}"


def _clean_urls(text: str, with_settings: Callable[[str], str] | None = None) -> str:
    """Return ``text`` without the user in each URL, and with the settings of each URL cleaned by ``with_settings``."""
    match, with_settings = _SCHEME.search(text), with_settings or _with_harmless_settings
    urls = (f"{scheme}{with_settings(_hide_user(scheme, rest))}" for scheme, rest in _urls(text))
    return "".join((text if match is None else text[: match.start()], *urls))


def _urls(text: str) -> Iterator[tuple[str, str]]:
    """Yield each URL in ``text`` as two strings: the scheme, and the rest of the text up to the next URL."""
    matches = list(_SCHEME.finditer(text))
    if len(matches) > 1 and ":" in _user(matches[0][0], text[matches[0].end() :]):
        matches = matches[:1]  # a password may contain text that looks like a second URL
    ends = [match.start() for match in matches[1:]] + [len(text)]
    for match, end in zip(matches, ends, strict=False):
        yield match[0], text[match.end() : end]


def _hide_user(scheme: str, rest: str) -> str:
    user = _user(scheme, rest)
    return f"{HIDDEN}{rest[len(user) :]}" if user else rest


def _user(scheme: str, rest: str) -> str:
    """Return the user and password in a URL, or an empty string if it has no user. A password may contain slashes."""
    kind, (before, at, _) = scheme.partition(":")[0].lower(), rest.rpartition("@")
    if scheme.startswith(_ORACLE) or (at and kind in _CONTAINERS and _CONTAINER.match(rest)):
        return before if scheme.startswith(_ORACLE) else ""
    authority = re.split(r"[/?#;,]", rest, maxsplit=1)[0]
    _, colon, port = authority.rstrip(_ENDS).partition(":")
    if not colon or authority.startswith("["):
        return before if "@" in authority else ""
    if at:
        return before if "@" in authority or kind not in _WITH_PORTS or not port.isdigit() else ""
    return "" if re.match(r"\d{0,5}(?:\s|\W*\Z)", port) else authority.rstrip(_ENDS)  # a password without a host


def _with_harmless_settings(url: str) -> str:
    """Return ``url`` with only its harmless settings. All other settings become one mark, ``***``."""
    match = _SETTINGS.search(url)
    if match is None:
        return url
    tail = url[match.end() :]
    end = tail[len(tail.rstrip(_ENDS)) :]
    settings = dict.fromkeys(
        setting if setting.partition("=")[0].lower() in _HARMLESS_SETTINGS else HIDDEN
        for setting in re.split(r"[&;?#]", tail[: len(tail) - len(end)])
    )
    return f"{url[: match.end()]}{'&'.join(settings)}{end}"
