"""What of a text others may see: options, URLs and paths by an allow list, and of any sentence nothing that is secret.

Logs, terminals and the table ``runs`` are read by more people than may know a password. A name that is not known to be
harmless hides its value; a name or a form that is known to be secret hides it in any text, whoever has written that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

HIDDEN = "***"

# Options of readers whose values say how rows are read, and nothing else: of texts, of files, of lakes and databases.
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
_URL_OPTIONS = frozenset(("url", "path", "hosts", "host"))  # of which the parts of a URL that are harmless are shown
# Settings of a store that its URL may hold, as Arrow reads them.
_SETTINGS_OF_STORES = """
region scheme endpoint_override allow_bucket_creation allow_bucket_deletion anonymous connect_timeout request_timeout
retry_limit_seconds background_writes check_directory_existence_before_creation use_hdfs3 replication buffer_size
default_block_size versionid snapshot ssl sslmode
"""
_HARMLESS_SETTINGS = frozenset(_SETTINGS_OF_STORES.split())
# The port behind their colon is one; behind that of other schemes a password of digits may stand.
_WITH_PORTS = frozenset(("hdfs", "webhdfs", "swebhdfs", "viewfs", "ofs", "o3fs", "har", "spark", "thrift", "alluxio"))
_CONTAINERS = frozenset(("abfs", "abfss", "wasb", "wasbs"))  # whose container stands before an @

# Longer scheme names, or runs of letters, are no URL; the bound keeps a search linear.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://")
_CONTAINER = re.compile(r"[\w$-]+@[\w.-]+(?::\d{1,5})?(?=[/?#]|\Z)")
_SETTINGS = re.compile(r"[?#;](?=[\w.%$-]+(?:=|%3D))")
_PORT = re.compile(r"\d{0,5}(?=\s|\W*\Z)")
_ENDS = ")]}>'\"`,.:;"  # what follows a URL or a value in a sentence
# A URL without its slashes, of which two colons and an @ tell: s3a:key:secret@bucket, //key:secret@bucket.
_NEARLY = re.compile(r"(?<![\w/.-])(?:[A-Za-z][\w+.-]{0,30}:/{0,3}|//)[^\s/@:=]{1,200}:")
_ORACLE = re.compile(r"jdbc:[\w.-]{1,40}:(?:(?:thin|oci8?|kprb):)?")

# Parts of names that secrets have, from Hadoop, cloud stores, databases, Snowflake, Kafka and the environment.
_NAMES = (
    r"(?:passw(?:or)?d|passphrase|passcode|(?<![a-z])pass(?==)|pwd|secret|token|credential|signature|authorization"
    r"|(?:api|access|account|private|shared|signing|master|storage|subscription|license|encryption|auth|functions?|ssh"
    r"|kms|customer|service[_.-]?account)[ _.-]?key|(?<![a-z])(?:sig|sas|pat|jwt|auth|cookie|keytab|jaas)(?![a-z]))"
)
_SEPARATOR = r"(?:\\{0,8}[\"'`])?[ \t]{0,3}(?:=>|:=|==?|:|>|%3D|</name>\s{0,80}<value>)[ \t]{0,3}"
# Unquoted it ends at a space; or further on, where a next setting follows a semicolon: Password=a b;Database=c
_VALUE = r"(?:\\{0,8}\"[^\"]*\"?|'[^']*'?|`[^`]*`?|\S+(?: [^;&\"'\n]{1,100}(?=;[ ]?[\w ]{1,40}=))?)"
_NAMED = re.compile(rf"({_NAMES}[\w.$-]{{0,200}}{_SEPARATOR})({_VALUE})", re.IGNORECASE)
_IS_SECRET = re.compile(_NAMES, re.IGNORECASE)
_GIVEN = re.compile(
    rf"(--[\w-]{{0,40}}{_NAMES}[\w-]{{0,40}}[ \t]+)({_VALUE})"
    r"|((?:passw(?:or)?d|passphrase|pwd|secret)[ \t]+(?:is[ \t]+)?)(\"[^\"]*\"?|'[^']*'?|`[^`]*`?)",
    re.IGNORECASE,
)
_HEADER = re.compile(r"(authorization\\{0,8}[\"']?[ \t]{0,3}[:=][ \t]{0,3}\\{0,8}[\"']?)([^\"'\n]+)", re.IGNORECASE)
_SCHEMES_OF_HEADERS = re.compile(
    r"\b((?i:bearer|negotiate|sharedkey(?:lite)?)[ \t]+|(?i:basic)[ \t]+(?=[A-Za-z+/]{0,200}[A-Z0-9+/=]))"
    r"[\w.~+/=:-]{4,}"
)
# Secrets that are known by their form.
_FORMS = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:(?!-----END).)*(?:-----END [A-Z ]{0,40}-----)?"
    r"|\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,}"
    r"|\beyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*)?"
    r"|\b(?:gh[opsur]_|github_pat_|glpat-|npm_|hf_|pypi-|sk-|sk_live_|rk_live_|xox[abeoprs]-|dapi|dop_v1_|SG\.|ya29\.)"
    r"[\w.-]{16,}"
    r"|\bAIza[\w-]{30,}"
    r"|(?<![\w/+=.-])[A-Za-z0-9+/]{86}=="
    r"|(?<![\w/+=.-])(?=[^\sa-z]{0,39}[a-z])(?=[^\sA-Z]{0,39}[A-Z])(?=[^\s\d]{0,39}\d)[A-Za-z0-9+][A-Za-z0-9+/]{39}"
    r"(?![\w/+=.-])",
    re.DOTALL,
)


def redact(text: str) -> str:
    """``text`` without what is secret in it: who opens a URL, settings of URLs, and values of secret names and forms.

    Everything else stays as it is, and a text that was cleaned before comes out as it went in.

    Examples
    --------
    >>> redact("cannot read s3a://key:wJal/bPx@bucket/day=1: password='tiger' is wrong")
    "cannot read s3a://***@bucket/day=1: password='***' is wrong"
    >>> redact("https://host/day.parquet?sv=1&sig=abc")
    'https://host/day.parquet?***'
    """
    if len(text) < 6:  # no name, sign and value
        return text
    if _SCHEME.match(text) and "@" in text:  # a place, of which a password may have spaces
        first, newline, rest = text.partition("\n")
        text = f"{_without_who(first)}{newline}{rest}"
    if "://" in text or "@" in text:
        text = "".join(map(_clean_word, re.split(r"(\s+)", text)))
    text = _FORMS.sub(HIDDEN, text)
    text = _HEADER.sub(rf"\g<1>{HIDDEN}", text)
    text = _NAMED.sub(lambda found: f"{found[1]}{_hidden(found[2])}", text)
    text = _GIVEN.sub(lambda found: f"{found[1] or found[3]}{_hidden(found[2] or found[4])}", text)
    return _SCHEMES_OF_HEADERS.sub(rf"\g<1>{HIDDEN}", text)


def shown_url(url: str) -> str:
    """A path or URL as others may see it: without who opens it, and with none but harmless settings.

    Examples
    --------
    >>> shown_url("s3://key:a b/c@bucket/day=1?region=eu&session=x")
    's3://***@bucket/day=1?region=eu&***'
    >>> shown_url("abfss://logs@account.dfs.core.windows.net/day=1")
    'abfss://logs@account.dfs.core.windows.net/day=1'
    """
    return redact(_with_settings(_without_who(url)) if _SCHEME.search(url) else _clean_word(url))


def has_secret(url: str) -> bool:
    """Whether a path or URL holds a password, or a setting that is named as one.

    Examples
    --------
    >>> [has_secret(each) for each in ("s3a://key:a/b@bucket/x", "https://h/x?sig=abc", "hdfs://host:8020/a@b")]
    [True, True, False]
    """
    starts = [found.start() for found in _SCHEME.finditer(url)]
    if any(":" in _who(url[start:]) for start in (0, *starts)):
        return True
    settings = _SETTINGS.split(url, maxsplit=1)[1:] if starts else []
    return any(_IS_SECRET.search(each) for each in settings)


def shown_options(options: Mapping[str, str]) -> dict[str, str]:
    """Options of a reader as others may see them: values of those that are known to be harmless, and parts of URLs.

    Examples
    --------
    >>> shown_options({"header": "true", "sfPrivateKey": "x", "url": "jdbc:x://ann:tiger@db:5432/y?user=a"})
    {'header': 'true', 'sfPrivateKey': '***', 'url': 'jdbc:x://***@db:5432/y?***'}
    """
    return {name: _shown_option(name.lower(), value) for name, value in options.items()}


def told_apart(options: Mapping[str, str]) -> dict[str, str]:
    """Options by which two ways to read are told apart: without secrets, which change nobody's rows, but with all else.

    They go into a hash and are shown to nobody.
    """
    return {
        name: HIDDEN if _IS_SECRET.search(name) else _NAMED.sub(rf"\g<1>{HIDDEN}", _without_who(value))
        for name, value in options.items()
    }


def _shown_option(name: str, value: str) -> str:
    if name in _HARMLESS_OPTIONS:
        return redact(value)
    return shown_url(value) if name in _URL_OPTIONS and "/" in value else HIDDEN


def _hidden(value: str) -> str:
    """What stands for ``value``, in its quotes, and before what follows it in a sentence."""
    if re.match(r"\*\*\*(?:[;&,.)\]}]|\Z)", value):  # hidden before
        return value
    opened = re.match(r"\\{0,8}[\"'`]", value)
    if opened is not None:
        return f"{opened[0]}{HIDDEN}{opened[0] if len(value) > len(opened[0]) else ''}"
    end = value[len(value.rstrip(_ENDS)) :] if value.strip(_ENDS) else ""
    return f"{HIDDEN}{end}"


def _clean_word(word: str) -> str:
    """One word of a text, each URL in it without what is secret there."""
    starts = [found.start() for found in _SCHEME.finditer(word)]
    if not starts:
        return _without_who(word)
    ends = [*starts[1:], len(word)]
    if len(starts) > 1 and "@" in word and ":" in _who(word):  # what looks like a second URL may be in a password
        starts, ends = starts[:1], ends[-1:]
    urls = (_with_settings(_without_who(word[start:end])) for start, end in zip(starts, ends, strict=True))
    return word[: starts[0]] + "".join(urls)


def _without_who(url: str) -> str:
    who = _who(url)
    if not who:
        return url
    place = url.index(who, _start(url))
    return f"{url[:place]}{HIDDEN}{url[place + len(who) :]}"


def _start(url: str) -> int:
    """Where the part behind the scheme of ``url`` begins."""
    oracle = _ORACLE.search(url)
    scheme = _SCHEME.search(url)
    if oracle is not None and (scheme is None or scheme.start() >= oracle.end()):
        return oracle.end()
    if scheme is not None:
        return scheme.end()
    nearly = _NEARLY.search(url)
    return 0 if nearly is None else nearly.start() + len(nearly[0].rstrip(":").rpartition(":")[0]) + 1


def _who(url: str) -> str:
    """Who opens the first ``url`` of a text, with the password, which may hold slashes; empty where nobody is named."""
    start, scheme = _start(url), _SCHEME.search(url)
    if not start:
        return ""
    rest = url[start:]
    before, at, _ = rest.rpartition("@")
    if scheme is None or start != scheme.end():  # of Oracle, or nearly a URL
        return before.lstrip("/") if at else ""
    kind, authority = scheme[0][:-3].lower(), re.split(r"[/?#;,]", rest, maxsplit=1)[0]
    if at and kind in _CONTAINERS and _CONTAINER.match(rest):
        return ""
    name, colon, port = authority.rstrip(_ENDS).partition(":")
    if at and ("@" in authority or (colon and not authority.startswith("[") and not _is_port(kind, port))):
        return before
    if not at and colon and not authority.startswith("[") and _PORT.match(port) is None:
        return f"{name}:{port}"  # a password before nothing
    return ""


def _is_port(kind: str, port: str) -> bool:
    return kind in _WITH_PORTS and port.isdigit() and len(port) <= 5


def _with_settings(url: str) -> str:
    """``url`` with those of its settings that are harmless, and the mark where there are others."""
    found = _SETTINGS.search(url)
    if found is None:
        return url
    tail = url[found.end() :]
    end = tail[len(tail.rstrip(_ENDS)) :]
    kept = dict.fromkeys(
        each if each.partition("=")[0].lower() in _HARMLESS_SETTINGS else HIDDEN
        for each in re.split(r"[&;?#]", tail[: len(tail) - len(end)])
    )
    return f"{url[: found.end()]}{'&'.join(kept)}{end}"
