"""The one policy by which a request gets its lane, and by which what Arrow does not read is left to Spark.

Whoever asks, by ``sr.evaluate`` or by a spec, gets the same lane for the same input, the same reason, and where there
is none the same sentence.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from sparkrank.engines.arrow.folders import FolderColumns
from sparkrank.engines.arrow.parquet import ParquetInput
from sparkrank.engines.arrow.sources import Sides
from sparkrank.engines.arrow.stored_files import refuse_spelled_otherwise
from sparkrank.engines.arrow.text_schema import is_set
from sparkrank.engines.lanes import FrameLane, Lane, LocalLane, ScanLane
from sparkrank.errors import FrameLaneNeededError, InputError, SpecError, StoreError, shortened
from sparkrank.run.reading import arrow_source, settings_of_frame, settings_of_source, spark_frame
from sparkrank.run.request import Request
from sparkrank.tables.days import local_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NO_SESSION = "there is no Spark session"


def open_lane(request: Request) -> Lane:
    """The lane for ``request``: the one that it asks for, or under ``auto`` the fastest that reads its rows.

    Lists and truth may be of different kinds. Where one is a Spark DataFrame, or one a path that Spark is to read and
    the other a table in memory, Spark takes both. What Arrow does not read as Spark does is left to Spark, and so is a
    path on another file system that Arrow cannot open: Spark may have credentials, or know a store, that Arrow has not.
    The choice is logged with its reason.

    Raises :class:`InputError` when there is no input, and :class:`SpecError` when the lane that is asked for cannot
    take it, or only Spark can and there is no session, or memory for rows is given to a lane that holds none.
    """
    lane = _chosen(request)
    logging.getLogger(__name__).info("lane %s: %s", lane.name, lane.reason)
    if request.row_memory is None:
        return lane
    if not isinstance(lane, LocalLane):
        raise SpecError(
            f"row_memory is {request.row_memory}, but the lane is {lane.name} ({lane.reason}): only the lane local "
            f"holds rows"
        )
    return replace(lane, row_memory=request.row_memory)


def _chosen(request: Request) -> Lane:
    asked, session = request.lane, request.session
    if asked in ("scan", "frame") and session is None and not all(side.is_in_memory for side, _ in request.sides):
        raise _refused(asked, _NO_SESSION, "local")
    opened: dict[str, ParquetInput] = {}
    reason = _left_to_spark(request)
    if reason is None:
        try:
            lane = _arrow_lane(request, opened)
        except FrameLaneNeededError as error:
            reason = str(error)
        except (InputError, StoreError) as error:
            if asked != "auto" or session is None or not _is_far(request):
                raise
            reason = str(error)
        else:
            if asked not in ("auto", lane.name):
                raise _refused(asked, lane.reason, lane.name)
            return lane
    if asked not in ("auto", "frame"):
        raise _refused(asked, reason, "frame")
    if session is None:
        raise SpecError(f"{reason}: spark=session leaves it to Spark, and a table in memory is taken as it is")
    return _frame_lane(request, session, reason, opened)


def _refused(asked: str, reason: str, allowed: str) -> SpecError:
    return SpecError(f"lane is {asked}, but {reason}: auto or {allowed} is allowed")


def _left_to_spark(request: Request) -> str | None:
    """Why Spark reads both sides before anybody has looked at them; None where Arrow looks first."""
    sides = [side for side, _ in request.sides]
    for side in sides:
        if side.is_frame:
            return f"the {side.what} is a Spark DataFrame"
    in_memory = [side for side in sides if side.is_in_memory]
    if request.spark is None or request.lane == "local" or len(in_memory) == len(sides):
        return None
    if request.lane == "frame":
        return "lane is frame"
    return f"the {in_memory[0].what} is a table in memory, and what is beside it is not" if in_memory else None


def _is_far(request: Request) -> bool:
    """Whether a path is on another file system than this machine's."""
    return any(side.path is not None and local_path(side.path) is None for side, _ in request.sides)


def _arrow_lane(request: Request, opened: dict[str, ParquetInput]) -> Lane:
    """The scan lane, or where it does not apply the local lane."""
    sources = [
        arrow_source(side, roles, request.plan, request.spark, opened, request.lane) for side, roles in request.sides
    ]
    sides = Sides(sources[0], sources[1] if len(sources) > 1 else None, request.roles)
    for side, _ in request.sides:
        if side.is_in_memory:
            return LocalLane(sides, f"the {side.what} is a table in memory")
    if request.spark is not None and request.lane != "local":
        return ScanLane(request.spark, sides)
    return LocalLane(sides, _NO_SESSION if request.spark is None else "lane is local")


def _frame_lane(request: Request, session: SparkSession, reason: str, opened: dict[str, ParquetInput]) -> FrameLane:
    folders: dict[str, FolderColumns] = {}
    frames = [spark_frame(side, session, roles, request.plan, opened, folders) for side, roles in request.sides]
    if len(folders) > 1:
        refuse_spelled_otherwise(folders["input"], folders["truth"], request.roles)
    return FrameLane(frames[0], request.roles, frames[1] if len(frames) > 1 else None, reason)


def settings_of(request: Request, lane: Lane, *, own_zone: bool) -> dict[str, str]:
    """The settings of the Spark session that what ``lane`` reads of ``request`` depends on.

    With a time zone of the spec's own (``own_zone``) the session's is not read.
    """
    found: dict[str, str] = {}
    if isinstance(lane, FrameLane):
        for (side, roles), frame in zip(request.sides, (lane.frame, lane.truth), strict=False):
            if frame is not None:
                found |= settings_of_frame(side, frame, roles, own_zone)
    if isinstance(lane, ScanLane):
        for (side, _), source in zip(request.sides, (lane.sides.impressions, lane.sides.truth), strict=False):
            found |= settings_of_source(side, source, lane.spark)
    return found


def inference_warnings(request: Request) -> Iterator[str]:
    """A sentence for each side whose options ask for types that are not inferred of groups, items and slices."""
    for side, roles in request.sides:
        if side.format != "csv" or not is_set(side.options, "inferSchema"):
            continue
        declared = {field.name for field in side.fields or ()}
        names = (column for role, _, column in roles.played() if role.is_name)
        named = dict.fromkeys(column for column in names if column not in declared)
        if named:
            yield (
                f"{side.what}.options.inferSchema infers no type of {shortened(', '.join(named))}: groups, items and "
                f"slices are the texts that stand there, 007 as 007, unless {side.what}.schema says another type"
            )
