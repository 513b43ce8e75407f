"""Conversion of values that are stored as bytes, such as UUIDs, to strings, and of such strings back to bytes."""

from __future__ import annotations

import re
import unicodedata
import uuid

_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)


def text_of_bytes(value: bytes) -> str:
    """Return ``value`` as a string: decoded if printable UTF-8, else as a UUID if it has 16 bytes, else as hexadecimal.

    Examples
    --------
    >>> [text_of_bytes(value) for value in (b"ann", bytes(range(16)), bytes(range(3)))]
    ['ann', '00010203-0405-0607-0809-0a0b0c0d0e0f', '000102']
    """
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = "\0"
    if all(unicodedata.category(letter) != "Cc" or letter in "\t\n\r" for letter in text):
        return text
    return str(uuid.UUID(bytes=value)) if len(value) == 16 else value.hex()


def bytes_of_text(text: str) -> list[bytes]:
    """Return all bytes that ``text`` may represent: its UUID or hexadecimal digits, if it has that form, and its UTF-8.

    Examples
    --------
    >>> bytes_of_text("beef"), bytes_of_text("ann")
    ([b'\\xbe\\xef', b'beef'], [b'ann'])
    """
    digits = text.replace("-", "") if _UUID.fullmatch(text) else text
    as_digits = [bytes.fromhex(digits)] if re.fullmatch("(?:[0-9A-Fa-f]{2})+", digits) else []
    return [*as_digits, text.encode()]
