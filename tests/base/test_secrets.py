"""No secret of any form comes out by any way, and what is harmless still does."""

from __future__ import annotations

import ast
import dataclasses
import itertools
import json
import logging
import time
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

import sparkrank as sr
from sparkrank.base import errors
from sparkrank.base.redaction import has_secret, redact, shown_options, shown_url
from sparkrank.config import load_spec
from sparkrank.engines.spark.failures import reading_errors, reason_of, task_errors
from sparkrank.run.day_request import places_of
from sparkrank.sources.files import without_password
from sparkrank.sources.side_rows import SideRows
from sparkrank.text.terminal import as_json_text, tell
from tests.support.commands import exit_code
from tests.support.commands import write_spec as conf_of

# Every form holds this word and nothing else that is secret.
WORD = "S3CRET"
# Who opens a URL.
URLS = [
    "s3a://AKIAKEY:wJalr/bPxS3CRET@bucket/x", "s3a://AKIAKEY:S3CRET/@bucket/x", "s3://KEY:12/S3CRET@bucket/x",
    "s3n://KEY:8020/S3CRET@bucket", "s3://KEY:S3C:S3CRET@bucket/x?region=eu", "s3://KEY:a?b=S3CRET@bucket/x",
    "s3://KEY:a#S3CRET@bucket/x", "s3://KEY:a;S3CRET,b@bucket/x", "s3://KEY:a@S3CRET@bucket/x",
    "s3://KEY:S3CRET with spaces@bucket/x", "s3a://KEY:'S3CRET'@bucket/x", "s3a://KEY:a://S3CRET@bucket/x",
    "S3A://KEY:S3CRET@bucket/x", "s3a://KEY:S3CRET", "gs://:S3CRET@bucket/x", "file://u:S3CRET@h/x",
    "hdfs://u:S3CRET@namenode:8020/x", "http://user:S3CRET@host/x.parquet", "ftp://user:S3%2FCRET-S3CRET@host/x",
    "abfss://container:S3CRET@account.dfs.core.windows.net/x", "postgresql://u:pa/S3CRET@h/db",
    "mongodb+srv://u:S3CRET@h/db",
    "https://account.blob.core.windows.net/c/x.parquet?sv=2024&se=2026&sr=b&sp=r&sig=S3CRET%3D",
    "https://b.s3.amazonaws.com/x?X-Amz-Algorithm=AWS4&X-Amz-Credential=S3CRET%2F2026&X-Amz-Signature=S3CRET",
    "https://storage.googleapis.com/b/x?X-Goog-Signature=S3CRET&X-Goog-Expires=9",
    "https://b.s3.amazonaws.com/x?AWSAccessKeyId=S3CRET&Signature=S3CRET&Expires=1",
    "https://h/x#access_token=S3CRET", "s3://bucket/x?secret_key=S3CRET&region=eu",
]  # fmt: skip
# Values that only databases and the like take.
VALUES = [
    "jdbc:oracle:thin:scott/S3CRET@//h/x", "jdbc:oracle:oci:scott/S3CRET@db", "jdbc:mysql://u:S3CRET@h:3306/db",
    "jdbc:postgresql://h/db?user=u&password=S3CRET",
    "jdbc:sqlserver://h:1433;databaseName=x;user=u;password={S3CRET;x}",
    "jdbc:snowflake://a/?user=u&private_key_pwd=S3CRET", "jdbc:databricks://h:443/x;AuthMech=3;UID=token;PWD=S3CRET",
]  # fmt: skip
# Texts in sentences of others.
TEXTS = [
    "password=S3CRET", "PASSWD: S3CRET", "pwd=S3CRET;x=1", "PGPASSWORD=S3CRET", "passphrase => S3CRET",
    '{"password": "a S3CRET"}', "{'apiKey': 'S3CRET'}", '{\\"token\\": \\"S3CRET\\"}', "apikey=S3CRET",
    "api-key: S3CRET", "sfPrivateKey=S3CRET", "sfToken=S3CRET", "fs.s3a.secret.key=S3CRET",
    "fs.s3a.access.key=S3CRET", "fs.azure.account.key.acc.dfs.core.windows.net=S3CRET==",
    "fs.azure.sas.container.account=sv=1&sig=S3CRET", "fs.azure.account.oauth2.client.secret: S3CRET",
    "AWS_SECRET_ACCESS_KEY=a/S3CRET+b", "aws_session_token = S3CRET",
    "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=S3CRET==;EndpointSuffix=x",
    "Endpoint=sb://h/;SharedAccessKeyName=a;SharedAccessKey=S3CRET=",
    "BlobEndpoint=https://a.blob.core.windows.net/;SharedAccessSignature=sv=1&sig=S3CRET",
    "Authorization: Bearer S3CRET.x", "authorization=AWS AKIAX:S3CRET=", "token Bearer S3CRET.x= is wrong",
    "sasl.jaas.config=PlainLoginModule required username='a' password='S3CRET';", "?sv=1&sig=S3CRET",
    "credential=S3CRET/20260131/eu/s3/aws4_request", "Authorization: token S3CRET",
    "{'x-amz-security-token'\n   \x1b[31m↳\x1b[0m 'S3CRET==', 'host'\n    ↳ 'x'}",
]  # fmt: skip
FORMS = [*URLS, *VALUES, *TEXTS]
HARMLESS = [
    "/data/logs/day=2026-01-31/part-0.parquet", "/data/a@b/10:30:x", "file:///data/logs/day=2026-01-31",
    "s3a://bucket/logs/dt=2026-01-{01,02}/part-?.parquet", "s3://bucket/user@example.com/x",
    "s3://bucket/x?region=eu-central-1&endpoint_override=http://127.0.0.1:9000",
    "hdfs://namenode:8020/user/ann@corp/x", "abfss://container@account.dfs.core.windows.net/logs",
    "http://127.0.0.1:9000 does not answer", 'the key "user" occurs twice (line 3, column 7)',
    'unknown key "input.pasword", did you mean "path"?', "input.options.multiLine, header=true, delimiter=;",
    'the group column "user_id" is of type double: a text is needed (columns: user_id, item_id)',
    "at 2026-01-31T10:00:00 run 2026-01-31-0123456789ab of commit 0123456789abcdef0123456789abcdef01234567",
    "session_key = 5 AND label > 0", "Basic statistics, monkey: 3, tokenizer",
]  # fmt: skip
LOG = pa.table({"u": [1, 1, 2], "s": [2.0, 1.0, 1.0], "y": [0, 1, 1]})
ROLES: dict[str, Any] = {"group": "u", "score": "s", "label": "y"}
DAY = ("--date", "2026-01-31")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("secrets")
    pq.write_table(LOG, folder / "rows.parquet")
    return folder


def document(rows: Path, **changes: Any) -> dict[str, Any]:
    source = {"path": str(rows / "rows.parquet"), "columns": ROLES}
    return {"input": {**source, **changes}, "metrics": ["rr"], "output": {"path": str(rows / "out")}}


def leaks(texts: Iterable[object]) -> list[str]:
    return [text for text in map(str, texts) if WORD in text]


def behind(told: pytest.ExceptionInfo[Exception]) -> list[str]:
    """What a traceback prints of an error and of all that is behind it, where it shows a secret."""
    return leaks(traceback.format_exception(told.value))


def test_no_sentence_shows_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(FORMS) >= 60
    assert all(WORD in form for form in FORMS)
    for form in FORMS:
        beyond = f"{'x ' * 1000}{form}"  # what any of them shows
        for text in (form, f"x: {form}", f"cannot read '{form}': denied (403)", f"{form}\nand {form}", beyond):
            raised = Exception(f"Traceback (most recent call last):\n  File x\nValueError: {form}\n")
            sentences = [redact(text), str(sr.SpecError(text)), errors.shorten(text), errors.quote(text)]
            sentences += [errors.itemize([text]), errors.quote([text, {"a": text}]), errors.quote(form)]
            sentences += [errors.first_line(sr.InputError(text)), as_json_text({"notes": [text]})]
            sentences += [errors.shorten(reason_of(error)) for error in (RuntimeError(text), raised)]
            tell(text)
            tell(text, err=True)
            assert leaks([*sentences, *capsys.readouterr()]) == []
            assert redact(redact(text)) == redact(text)


def test_a_text_that_is_cut_shows_none() -> None:
    """The mark of a secret must not be cut off before the secret is looked for."""
    for form in FORMS:
        for most in (20, 60, 600):
            texts = [f"{'y' * before} {form}" for before in range(0, 2 * most, max(most // 3, 1))]
            assert leaks(errors.shorten(text, most) for text in texts) == []
            assert leaks(errors.quote([text]) for text in texts) == []


def test_errors_of_spark_and_arrow_show_none() -> None:
    for form in FORMS:
        java = f"An error occurred while calling o1.load.\n: java.io.IOException: cannot open {form}\n\tat org.x\n"
        java += f"Caused by: java.lang.IllegalStateException: {form}\n"
        worker = f"[FAILED_READ_FILE.X] Encountered error while reading file {form.split(maxsplit=1)[0]} .\n{java}"
        for text in (java, worker, f"sparkrank.base.errors.InputError: no rows at {form}"):
            for context in (task_errors(), reading_errors(form, "jdbc", "input")):
                with pytest.raises(Exception, match=r"(?s).") as told, errors.without_secrets(), context:
                    raise RuntimeError(text)
                assert behind(told) == []
            assert isinstance(told.value, sr.SparkrankError)
        for kind in (OSError, pa.ArrowInvalid):
            assert WORD not in str(errors.unreadable(f"the input {without_password(form)} is bad", kind(form)))


def test_no_option_shows_one(rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for form in FORMS:
        options = dict.fromkeys(("pwd", "url", "header", "sfOptions", "x"), form)
        conf = conf_of(tmp_path, document(rows, format="jdbc", options=options))
        spec = load_spec(conf)
        assert spec.input.options == options
        side = SideRows("input", options=spec.input.options)
        assert leaks([spec.as_text(), repr(spec), repr(side), json.dumps(spec.resolved())]) == []
    assert exit_code("validate", "--conf", conf, *DAY) == 0
    assert leaks(capsys.readouterr()) == []


def test_no_name_of_a_place_shows_one(rows: Path, tmp_path: Path) -> None:
    """Where a person takes the address of a catalog or a tracker for its name."""
    for url in (url for url in URLS if len(url) <= 80):  # the most of a label
        content = {**document(rows), "track": [{"to": "mlflow", "experiment": url}], "name": url, "owner": url}
        content["output"]["publish"] = [{"format": "iceberg", "catalog": url, "namespace": url}]
        spec = load_spec(conf_of(tmp_path, content))
        assert (spec.output.publish[0].catalog, spec.track[0].experiment) == (url, url)
        assert leaks([spec.as_text(), json.dumps(spec.resolved())]) == []


def test_no_sentence_repeats_the_value_of_an_option(
    rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values: tuple[Any, ...] = ("123456", 123456, ["S3CRET"], {"a": "S3CRET"})
    for name, value in itertools.product(("password", "nanValue", "x"), values):
        for changes in ({"format": "csv"}, {"pth": "x"}):
            exit_code("validate", "--conf", conf_of(tmp_path, document(rows, options={name: value}, **changes)))
        for override in (f"input.options.{name}=[S3CRET", f"input.options.{name}.S3.x=123456", "input.options=S3CRET"):
            exit_code("validate", "--conf", conf_of(tmp_path, document(rows)), "--set", override)
    told = "".join(capsys.readouterr())
    assert "S3CRET" not in told
    assert "123456" not in told


def test_what_yaml_takes_for_its_own_is_not_repeated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conf = tmp_path / "spec.yaml"
    for mark in ("*", "!", "!!", "%", "@", "&", "!S3!", "{", "`"):
        conf.write_text(f"input:\n  path: /x\n  options: {{}}\n  password: {mark}S3CRET x\n")
        assert exit_code("validate", "--conf", str(conf)) == 2
        assert "CRET" not in "".join(capsys.readouterr())


def test_no_path_shows_one(rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    urls = [*URLS, f"{{day}}{URLS[0]}", *(f"{url}/{{day}}" for url in URLS)]
    for place, url in enumerate(urls):
        role, content = ("input", "truth", "output")[place % 3], document(rows)
        content.setdefault(role, {})["path"] = url
        conf = conf_of(tmp_path, content)
        command = ("validate", "evaluate")[place % 2]
        assert exit_code(command, *DAY, "--debug", "--conf", conf) == 2, url
        conf = conf_of(tmp_path, document(rows, path=str(rows / "rows.parquet")))
        assert exit_code("validate", "--conf", conf, "--set", f"{role}.path={url}") == 2, url
        assert has_secret(url.replace("{day}", "")), url
    for url in URLS[::4]:
        content = document(rows, path=None, table=f"parquet.`{url}`")
        assert exit_code("validate", *DAY, "--conf", conf_of(tmp_path, content)) == 2, url
    assert leaks(capsys.readouterr()) == []


def test_sr_evaluate_shows_none_in_its_error_or_what_is_behind_it(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sparkrank.sources.stored_files.file_system", _refusing)
    caplog.set_level(logging.DEBUG)
    for url in URLS:
        with pytest.raises(sr.SparkrankError) as told:
            sr.evaluate(url, ["rr"], **ROLES, lane="local")
        assert behind(told) == []
    assert WORD not in caplog.text


def _refusing(path: str) -> None:
    raise OSError(f"cannot open {path}: denied")


def test_sides_that_are_compared_show_none(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("tables.stored.day_files", "tables.commit.manifests", "comparison.group_tables"):
        monkeypatch.setattr(f"sparkrank.{module}.file_system", _refusing)
    for url in URLS:
        for command in (("compare", "--lane", "local"), ("movers", "--metric", "rr", "--lane", "local")):
            for date in ((), DAY):
                assert exit_code(*command, "--left", url, "--right", url, *date, "--debug") != 0
        with pytest.raises(sr.SparkrankError) as told:
            sr.movers(url, url, "rr")
        assert behind(told) == []
    assert leaks(capsys.readouterr()) == []


def test_an_error_that_nobody_expected_shows_none(
    rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        try:
            raise KeyError(form)
        except KeyError as error:
            raise RuntimeError(f"it failed: {form}") from error

    conf = conf_of(tmp_path, document(rows))
    monkeypatch.setattr("sparkrank.cli.options.load_spec", fails)
    monkeypatch.setattr("sparkrank.doors.api.open_request", fails)
    for form in FORMS:  # noqa: B007 - fails reads it
        assert exit_code("validate", "--conf", conf, "--debug") == 1
        with pytest.raises(RuntimeError, match="it failed") as told:
            sr.evaluate(LOG, ["rr"], **ROLES)
        assert behind(told) == []
    assert exit_code("validate", "--conf", conf) == 1
    assert leaks(capsys.readouterr()) == []


class _FixedError(Exception):
    """As an error of Java, whose text nobody can change."""

    def __str__(self) -> str:
        return "password=S3CRET"


def test_an_error_whose_text_is_fixed_is_replaced() -> None:
    for error in (_FixedError(), RuntimeError("x")):
        with pytest.raises(Exception, match=r"^(_FixedError: password=\*\*\*|x)$") as told, errors.without_secrets():
            raise error from _FixedError()
        assert behind(told) == []


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_a_run_shows_none_in_what_it_prints_and_stores(
    rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: list[str]
) -> None:
    """Where a condition or a person's reason has one, or a document a model or a gate of such a name."""
    content = document(rows, where="s > 0 OR 'password=S3CRET' = 'x'")
    content["input"]["columns"] = {**ROLES, "score": {"password=S3CRET" if form else "a": "s", "b": "s"}}
    content |= {"engine": {"lane": "local"}, "output": {"path": str(tmp_path / "out")}}
    content["gates"] = [{"metric": "rr", "min": 5, "name": "token=S3CRET" if form else "g"}]
    conf = conf_of(tmp_path, content)
    at = ("--conf", conf, *DAY, *form, "--set", "input.where=s > 0")
    assert [exit_code(command, *at) for command in ("evaluate", "gate")] == [3, 3]
    assert exit_code("accept", *at, "--reason", "seen with token=S3CRET by ann") == 0
    assert [exit_code(command, *at) for command in ("gate", "validate")] == [0, 0]
    assert exit_code("validate", "--conf", conf, *DAY, *form) == 0
    out = "".join(capsys.readouterr())
    assert ('"sentence"' if form else "# input.where: s > 0 OR") in out
    assert "by ann" in out
    (run,) = pq.read_table(tmp_path / "out/runs/day=2026-01-31", partitioning=None).to_pylist()
    gates = pq.read_table(tmp_path / "out/gates/day=2026-01-31", partitioning=None).to_pylist()
    assert leaks([out] if form else [out, run, gates, load_spec(conf).as_text()]) == []
    assert str(rows / "rows.parquet") in run["input"]


def test_documents_of_errors_show_none(rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conf = conf_of(tmp_path, document(rows))
    for form in FORMS[::10]:
        for words in (["validate", "--set", f"x={form}"], ["path", "--table", form], ["evaluate", "--date", form]):
            assert exit_code(words[0], "--conf", conf, *words[1:], "--json") == 2
        assert exit_code("metrics", form, "--json") == 2
    told = "".join(capsys.readouterr())
    assert '"sentence"' in told
    assert leaks([told]) == []


def test_a_result_that_shows_itself_shows_none() -> None:
    models: dict[str, str] = {**dict.fromkeys(FORMS[::20], "s"), "b": "s"}
    ev = sr.evaluate(LOG, ["rr"], **{**ROLES, "score": models})
    for form in FORMS[::20]:
        compared = sr.compare_runs(ev, ev, left_model=form, right_model="b")
        for result in (ev, compared, dataclasses.replace(compared, left=form, notes=(form,))):
            assert leaks([repr(result), result._repr_html_()]) == []


def test_what_is_hidden_still_tells_runs_apart(rows: Path, tmp_path: Path) -> None:
    def hash_of(query: str = "1", login: str = "a", schema: str = "y", **changes: Any) -> str:
        url = f"jdbc:x://u:{login}@h/d?schema={schema}&password={login}"
        options = {"query": f"select {query}", "password": login, "url": url}
        return load_spec(conf_of(tmp_path, document(rows, format="jdbc", options=options, **changes))).hash()

    assert hash_of() == hash_of(login="b")
    assert len({hash_of(), hash_of("2"), hash_of(schema="z")}) == 3
    assert hash_of(where="token = 'a'") != hash_of(where="token = 'b'")


def test_what_is_harmless_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    for text in HARMLESS:
        tell(text)
        assert capsys.readouterr().out == f"{text}\n"
        assert redact(text) == shown_url(text) == str(sr.SpecError(text)) == text
        assert not has_secret(text), text


def test_options_that_are_harmless_are_shown(rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = {
        "header": "true", "delimiter": ";", "sep": "\t", "multiLine": "true", "mode": "FAILFAST", "encoding": "UTF-8",
        "mergeSchema": "true", "versionAsOf": "7", "fetchsize": "1000", "url": "jdbc:postgresql://db:5432/logs",
    }  # fmt: skip
    assert shown_options(options) == options
    assert shown_options({name.upper(): value for name, value in options.items()}).keys() == {*map(str.upper, options)}
    conf = conf_of(tmp_path, document(rows, format="jdbc", options=options))
    assert exit_code("validate", "--conf", conf, *DAY) == 0
    assert yaml.safe_load(capsys.readouterr().out)["input"]["options"] == options
    spec = load_spec(conf)
    assert places_of(spec, "2026-01-31")[0] == f"input.path: {rows / 'rows.parquet'}"
    assert shown_options({"anything else": "x"}) == {"anything else": "***"}


def test_long_texts_are_cleaned_in_time() -> None:
    started = time.monotonic()
    for letters in ("://", "a", "@", "a:", "password=", "'", "x://a:b@", "?a=", "Basic ", "s://s:", "jdbc:oracle:a:"):
        redact((letters * 200_000)[:200_000])
        errors.shorten((letters * 200_000)[:200_000])
    assert time.monotonic() - started < 10


@pytest.fixture(scope="module")
def calls() -> list[tuple[str, ast.Call]]:
    """Every call in the package, with the file that it is in."""
    package = Path(sr.__file__).parent
    return [
        (file.relative_to(package).as_posix(), node)
        for file in package.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
    ]


def test_whatever_is_logged_is_cleaned(calls: list[tuple[str, ast.Call]]) -> None:
    """Each value of a call of a logger is a number, a word of ours, or what ``shorten`` made of it."""
    levels = ("debug", "info", "warning", "error", "exception", "critical")
    logged = [call for _, call in calls if isinstance(call.func, ast.Attribute) and call.func.attr in levels]
    values = [value for call in logged for value in call.args[1:]]
    clean = [value for value in values if isinstance(value, ast.Call) and ast.unparse(value.func) == "shorten"]
    assert {ast.unparse(value) for value in values if value not in clean} == {"lane.name", "what", "row_memory"}
    assert len(clean) >= 6


def test_only_one_place_prints(calls: list[tuple[str, ast.Call]]) -> None:
    """Nothing but the terminal's own module prints, so that nothing goes by it; the line of a running stage is ours."""
    prints = {"print", "click.echo", "click.secho", "sys.stdout.write", "sys.stderr.write", "warnings.warn"}
    prints |= {"traceback.print_exc", "traceback.print_exception"}
    assert {file for file, call in calls if ast.unparse(call.func) in prints} == {"text/terminal.py"}
