"""The choice of the lane (scan, local or frame) of a request, the same for every function and command."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from sparkrank.base.errors import (
    MOST_SENTENCE,
    FrameLaneNeededError,
    InputError,
    SpecError,
    StoreError,
    UnappliedFeatureError,
    itemize,
    shorten,
)
from sparkrank.engines.input_frames import lacks_format
from sparkrank.engines.lanes import LANES, Lane, grouped_lanes, row_memory_lanes
from sparkrank.engines.request import AUTO, Request
from sparkrank.engines.spark.frame_lane import FrameLane
from sparkrank.engines.spark.session_features import has_pyspark
from sparkrank.engines.spark.worker_python import validate_session
from sparkrank.sources.colocation import BY_ITSELF
from sparkrank.sources.text_files import TextContentError
from sparkrank.tables.commit.days import local_path

if TYPE_CHECKING:
    from sparkrank.sources.protocol import Source


def open_lane(request: Request) -> Lane:
    """Return the lane named in ``request`` or, under ``auto``, the first of ``LANES`` that can run the request.

    Spark reads both lists and truth if either is a DataFrame, or if one is a path for Spark and the other is in memory.
    Spark also reads files that Arrow cannot open or reads differently. The choice is logged. Raise :class:`InputError`
    if there is no input, and :class:`SpecError` if the named lane cannot read the input or lacks a session, or if
    ``grouped`` or ``row_memory`` is set without any effect.
    """
    if (reason := _why_not_grouped(request)) is not None:
        raise SpecError(f"grouped is {request.grouped}, but {reason}")
    lane = _first_that_takes(request) if request.lane == AUTO else _named_lane(request)
    logging.getLogger(__name__).info("lane %s: %s", lane.name, shorten(lane.reason, MOST_SENTENCE))
    if request.grouped not in BY_ITSELF and not lane.takes_grouped:
        raise SpecError(
            f"grouped is {request.grouped}, but the lane is {lane.name} ({lane.reason}), in which Spark reads: the "
            f"lanes {itemize(grouped_lanes())} evaluate files where they read them; leave it out"
        )
    if request.row_memory is not None and not lane.takes_row_memory:
        raise SpecError(
            f"row_memory is {request.row_memory}, but the lane is {lane.name} ({lane.reason}): only the lane "
            f"{itemize(row_memory_lanes())} holds rows"
        )
    return lane


def _why_not_grouped(request: Request) -> str | None:
    """Return the reason why ``request.grouped`` has no effect, or None if it is not set or may have an effect."""
    if request.grouped in BY_ITSELF:
        return None
    if not request.plan.keys:
        return "no group column is named: rows are evaluated where they are read"
    if request.plan.arrays:
        where = "travel to what their groups had before" if request.plan.past else "are evaluated where they are read"
        return f"each row is a list, and so a group by itself: rows {where}"
    if (what := request.memory_side) is not None:
        return f"the {what} is a table in memory: files named by path are needed"
    if (what := request.frame_side) is not None:
        return f"the {what} is a Spark DataFrame: files named by path are needed"
    return None


def _first_that_takes(request: Request) -> Lane:
    opened: dict[str, Source] = {}
    refused = left = None  # why lanes did not take the request: before and after they looked at the rows
    feature: UnappliedFeatureError | None = None
    for kind in LANES.values():
        reason = kind.why_not(request)
        if reason is not None:
            refused = refused or reason
            continue
        try:
            return _opened(kind, request, opened, left or refused)
        except FrameLaneNeededError as error:
            left = str(error)
            feature = error if isinstance(error, UnappliedFeatureError) else feature
        except SpecError as error:
            if feature is None or not lacks_format(error.__cause__):
                raise
            raise feature from error
        except (InputError, StoreError) as error:
            is_far = any(side.path is not None and local_path(side.path) is None for side, _ in request.sides)
            is_content = isinstance(error, TextContentError) or not all(own.leaves_to_spark for own in opened.values())
            if request.session is None or kind is FrameLane or not is_far or is_content:
                raise
            left = str(error)
    if feature is not None:
        raise feature
    if not has_pyspark():
        raise SpecError(f"{left or refused}, and pyspark is not installed: pip install 'sparkrank[spark]' brings it")
    raise SpecError(
        f"{left or refused}, and there is no Spark session for the lane frame: sr.evaluate takes one as spark=session, "
        "and a table in memory as it is"
    )


def _named_lane(request: Request) -> Lane:
    kind = LANES[request.lane]
    reason = kind.why_not(request)
    if reason is not None:
        by_itself = replace(request, lane=AUTO)
        others = (name for name, other in LANES.items() if other.why_not(by_itself) is None)
        raise _refused(request, reason, next(others, None))
    try:
        return _opened(kind, request, {}, None)
    except UnappliedFeatureError:
        raise
    except FrameLaneNeededError as error:
        raise _refused(request, str(error), FrameLane.name) from None


def _opened(kind: type[Lane], request: Request, opened: dict[str, Source], left: str | None) -> Lane:
    """Open a lane of the class ``kind`` for ``request``. Raise an error if it needs a session and has no usable one.

    ``opened`` contains the sources that a previous lane opened, and ``left`` says why that lane gave up.
    """
    if kind.needs_session and request.session is not None:
        validate_session(request.session)
    return kind.open(request, opened, left)


def _refused(request: Request, reason: str, other: str | None) -> SpecError:
    allowed = AUTO if other is None else f"{AUTO} or {other}"
    return SpecError(f"lane is {request.lane}, but {reason}: {allowed} is allowed")
