"""The settings that a command gives to a new session, unless the user or the site has set them."""

from __future__ import annotations

import os

from sparkrank.engines.spark.unix_sockets import SettingReader, unix_sockets

# conf/spark-defaults.conf has the reasons. The settings beside a value are alternatives by which a site may have
# chosen.
_COMPRESS, _CODEC = "spark.shuffle.compress", "spark.io.compression.codec"
_MERGE, _CHECKSUM = "spark.shuffle.sort.bypassMergeThreshold", "spark.shuffle.checksum.algorithm"
_SHUFFLE = {_COMPRESS: ("false", (_CODEC,)), _MERGE: ("1", ()), _CHECKSUM: ("CRC32C", ())}
# Python workers get these variables on every machine, also under a local master.
_DELAY, _DELAY_MS = "MIMALLOC_PURGE_DELAY", "600000"
_OF_WORKERS = "spark.executorEnv."


def session_defaults(read: SettingReader) -> dict[str, str]:
    """Return the recommended settings that are not set. ``read`` returns the value of a setting, or None.

    Spark uses these settings only if they are set before its context is made.
    """
    chosen = {name: value for name, (value, others) in _SHUFFLE.items() if not any(map(read, (name, *others)))}
    if _DELAY not in os.environ and not read(_OF_WORKERS + _DELAY):
        chosen[_OF_WORKERS + _DELAY] = _DELAY_MS
    return chosen | dict(unix_sockets(read))
