"""Tables of lake formats are known by what their formats leave in a folder, and by nothing that users leave there."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs

import sparkrank as sr
from sparkrank.base.errors import InputError, SpecError
from sparkrank.jobs import evaluate_day
from sparkrank.run.stages import Stages
from sparkrank.sources.files import Listing
from sparkrank.sources.lakes import LakeTable
from tests.support.commands import local_spec
from tests.support.parquet_files import write

ROLES = {"group": "user", "score": "score", "label": "label", "lane": "local"}
ROW: dict[str, list] = {"user": [1], "score": [0.5], "label": [1]}
OF_ICEBERG = "00002-9c12d441-03fe-4693-9a96-a0705ddf69c1"
MARKS = {
    "_delta_log/00000000000000000000.json": "delta",
    "_delta_log/00000000000000000010.checkpoint.parquet": "delta",
    ".hoodie/hoodie.properties": "hudi",
    ".hoodie/20261119.commit": "hudi",
    "metadata/v1.metadata.json": "iceberg",
    "metadata/v12.gz.metadata.json": "iceberg",
    f"metadata/{OF_ICEBERG}.metadata.json": "iceberg",
    f"metadata/{OF_ICEBERG}.gz.metadata.json": "iceberg",
}
PLACES = ["", "day=1", "day=1/a.parquet", "day=*", "*/a.parquet", "day=1/{a,b}.parquet"]


class OtherStore:
    """The files of this machine as those of a store, which is asked by its interface alone, and how often."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._files = fs.LocalFileSystem()

    def get_file_info(self, what: Any) -> Any:
        self.asked.append(what.base_dir if isinstance(what, fs.FileSelector) else what)
        return self._files.get_file_info(what)


@pytest.mark.parametrize(("mark", "kind"), MARKS.items())
def test_a_lake_table_is_refused_wherever_the_path_goes_in(tmp_path: Path, mark: str, kind: str) -> None:
    """Also one all of whose files lie elsewhere, as a shallow clone has them."""
    write(tmp_path / "t/day=1/a.parquet", **ROW)
    write(tmp_path / "lists/a.parquet", user=[1], item=[1], score=[0.5])
    for table in ("t", "clone"):
        (tmp_path / table / mark).parent.mkdir(parents=True)
        (tmp_path / table / mark).write_text("{}")
    told = rf"is in a table of {kind.capitalize()} .*write format: {kind} "
    for place in (*(f"t/{place}" for place in PLACES), "clone"):
        with pytest.raises(InputError, match=rf"^the input .*{re.escape(place)}.* {told}"):
            sr.evaluate(f"{tmp_path}/{place}", ["rr"], **ROLES)
    roles = {"group": "user", "score": "score", "item": "item", "truth": f"{tmp_path}/t/day=1"}
    with pytest.raises(InputError, match=f"^the truth .* {told}"):
        sr.evaluate(str(tmp_path / "lists"), ["rr"], **roles)


@pytest.mark.parametrize("name", ["any.metadata.json", "version-hint.text"])
def test_iceberg_by_other_names_has_its_data_beside(tmp_path: Path, name: str) -> None:
    write(tmp_path / "t/data/a.parquet", **ROW)
    write(tmp_path / "u/day=1/a.parquet", **ROW)
    for table in "tu":
        (tmp_path / table / "metadata").mkdir()
        (tmp_path / table / "metadata" / name).write_text("1")
    with pytest.raises(InputError, match=r"is in a table of Iceberg .*write format: iceberg"):
        sr.evaluate(f"{tmp_path}/t/data", ["rr"], **ROLES)
    assert sr.evaluate(f"{tmp_path}/u/day=1", ["rr"], **ROLES).table["value"].to_pylist() == [1.0]


OWN = ["metadata/schema.json", "metadata/columns.metadata.json", "metadata.json", "delta_log/0.json"]
OWN += ["x_delta_log/0.json", "_delta_logs/0.json", "hoodie/a", "other/_delta_log/0.json", "day=2/.hoodie/a"]


@pytest.mark.parametrize("own", [*OWN, "metadata"])
def test_folders_of_the_users_own_are_no_tables(tmp_path: Path, own: str) -> None:
    """Also tables beside the path, of which it takes no file."""
    write(tmp_path / "t/day=1/a.parquet", **ROW)
    (tmp_path / "t" / own).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "t" / own).write_text("{}")
    stores: list[Any] = [fs.LocalFileSystem(), OtherStore()]
    for store, place in itertools.product(stores, ("day=1", "day=1/a.parquet", "day=1/*", "day=[1]")):
        listing = Listing.at(store, f"{tmp_path}/t/{place}")
        assert (listing.files, listing.tables) == ((f"{tmp_path}/t/day=1/a.parquet",), ())


def test_a_store_is_asked_once_for_each_folder_above(tmp_path: Path) -> None:
    for part in range(30):
        write(tmp_path / f"t/day=1/hour={part}/a.parquet", **ROW)
    store: Any = OtherStore()
    assert Listing.at(store, f"{tmp_path}/t/day=1").tables == ()
    base, above = f"{tmp_path}/t/day=1", [str(each) for each in (tmp_path / "t/day=1").parents][:-1]
    assert store.asked == [base, base, *above]  # what it is, what is below, and what is beside each folder above
    (tmp_path / "t/_delta_log").mkdir()
    store.asked.clear()
    assert Listing.at(store, base).tables == (LakeTable(f"{tmp_path}/t", "delta", "_delta_log"),)
    assert store.asked == [base, base, f"{tmp_path}/t"]  # the nearest will do


def test_a_folder_above_that_nobody_may_list_ends_the_search(tmp_path: Path) -> None:
    write(tmp_path / "t/day=1/a.parquet", **ROW)

    class Shut(OtherStore):
        def get_file_info(self, what: Any) -> Any:
            if isinstance(what, fs.FileSelector) and what.base_dir == str(tmp_path):
                self.asked.append("refused")
                raise PermissionError("AWS Error ACCESS_DENIED during ListObjectsV2 operation")
            return super().get_file_info(what)

    store: Any = Shut()
    assert Listing.at(store, f"{tmp_path}/t").files == (f"{tmp_path}/t/day=1/a.parquet",)
    assert store.asked[-1] == "refused"


def test_a_link_into_a_table_leads_into_it(tmp_path: Path) -> None:
    write(tmp_path / "lake/t/day=1/a.parquet", **ROW)
    (tmp_path / "lake/t/_delta_log").mkdir()
    links = (("a/b.parquet", "day=1/a.parquet", "a"), ("b/day=1", "day=1", "b"), ("c", "day=1", "c"))
    for place, target, asked in links:
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).symlink_to(tmp_path / "lake/t" / target)
        with pytest.raises(InputError, match=rf"in a table of Delta \({tmp_path}/lake/t has _delta_log\)"):
            sr.evaluate(tmp_path / asked, ["rr"], **ROLES)


def test_a_table_of_hudi_goes_to_spark_and_both_sentences_name_the_package(tmp_path: Path) -> None:
    """As Hudi's documentation names it, for the version of Spark that one has."""
    package = r"org\.apache\.hudi:hudi-spark<version>-bundle_2\.13"
    write(tmp_path / "t/a.parquet", **ROW)
    (tmp_path / "t/.hoodie").mkdir()
    (tmp_path / "t/.hoodie/hoodie.properties").touch()
    source = {"path": f"{tmp_path}/t", "columns": {"group": "user", "score": "score", "label": "label"}}
    with pytest.raises(SpecError, match=rf"lane is local, but input\.format is hudi, .* with the package {package}: "):
        evaluate_day(local_spec(tmp_path, {**source, "format": "hudi"}), "2026-01-01", None, Stages())
    without = (
        rf"^input\.format is hudi, .* with the package {package}, and there is no Spark session for the lane frame: "
    )
    with pytest.raises(SpecError, match=without):
        evaluate_day(local_spec(tmp_path, {**source, "format": "hudi"}, engine={}), "2026-01-01", None, Stages())
    with pytest.raises(
        InputError, match=rf"write format: hudi with the path of the table \(Spark needs {package} for it"
    ):
        evaluate_day(local_spec(tmp_path, source), "2026-01-01", None, Stages())
