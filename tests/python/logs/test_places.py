"""Places that cannot be: each is refused with what is wrong, and nothing is begun."""

import os
import re
import sys

import mainspring as ms
import pytest
from mainspring import _session
from mainspring._awsfiles import aws_options
from mainspring._config import load_settings
from mainspring._logstore import LogStoreError, check, open_log_store
from mainspring.errors import ConfigError

dag = ms.Dag.from_graph("nothing", ["a"])

ALL = ("s3:PutObject", "s3:GetObject", "s3:ListBucket")


def refused(database, code):
    """Why a run is refused; nothing was made for it."""
    with pytest.raises(ConfigError) as caught:
        dag.run("2024-01-01")
    (problem,) = caught.value.problems
    assert (problem.code, problem.place) == (code, "logs")
    assert not database.parent.exists()
    assert str(database) not in _session._sessions
    return problem


@pytest.mark.parametrize(("value", "message"), [
    ("s4://bucket/x", "knows no 's4://'"),
    ("https://s3.amazonaws.com/bucket", "goes into AWS_ENDPOINT_URL"),
    ("s3:bucket", "must be a folder or a URI such as 's3://bucket/prefix'"),
    ("s3://", "names no bucket that can be: ''"),
    ("s3://Up_Per/x", "names no bucket that can be: 'Up_Per'"),
    ("s3://key:secret@bucket/x", "must not contain credentials"),
    ("s3://bucket/a/../b", "has a prefix of letters"),
    ("s3://bucket/a b", "has a prefix of letters"),
    ("file://relative", "needs three slashes"),
    ("", "must be a text"),
])
def test_a_place_that_cannot_be_is_refused_with_the_settings(value, message, tmp_path):
    with pytest.raises(ConfigError) as caught:
        load_settings({"logs": value}, {}, tmp_path)
    assert message in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_folder_is_counted_from_the_project_file(tmp_path):
    (tmp_path / "mainspring.toml").write_text('logs = "out/日志 1"\n')
    found = load_settings(None, {}, tmp_path)
    assert found.logs == f"file://{tmp_path}/out/%E6%97%A5%E5%BF%97%201"
    open_log_store(found.logs).put("a/b", b"x")
    assert (tmp_path / "out" / "日志 1" / "a" / "b").read_bytes() == b"x"


@pytest.mark.parametrize(("text", "size"), [("64MB", 64 << 20), ("1 KB", 1024), ("2gb", 2 << 30)])
def test_sizes_have_units(text, size, tmp_path):
    assert load_settings({"log_limit": text}, {}, tmp_path).log_limit == size


@pytest.mark.parametrize("value", ["64", 64, "64 MiB", "100B", "-1MB", "2000000GB"])
def test_sizes_that_say_nothing_are_refused(value, tmp_path):
    with pytest.raises(ConfigError, match="log_limit must be"):
        load_settings({"log_limit": value}, {}, tmp_path)


def test_a_bucket_that_is_not_there(s3, project):
    problem = refused(project("s3://no-such-bucket/x"), "logs_bucket")
    assert problem.message == "there is no bucket s3://no-such-bucket"


def test_without_the_extra_it_says_which_command_brings_it(s3, project, monkeypatch):
    monkeypatch.setitem(sys.modules, "obstore", None)
    problem = refused(project(f"s3://{s3.bucket()}"), "logs_extra")
    assert "pip install 'mainspring[object-store]'" in problem.hint


def test_a_folder_needs_no_extra(tmp_path, project, monkeypatch):
    monkeypatch.setitem(sys.modules, "obstore", None)
    project(str(tmp_path / "logs"))
    assert dag.run("2024-01-01").state == "SUCCESS"


@pytest.mark.parametrize(("may", "what"), [
    (ALL[1:], "no right to write in .*\\(s3:PutObject\\)"),
    ((ALL[0], ALL[2]), "no right to read in .*\\(s3:GetObject\\)"),
    (ALL[:2], "no right to list in .*\\(s3:ListBucket\\)"),
])
def test_a_right_that_is_missing_is_named(s3, project, monkeypatch, may, what):
    bucket, keys = s3.bucket(), s3.user(*may)
    for name, value in keys.items():
        monkeypatch.setenv(name, value)
    s3.asks_for_rights(True)
    try:
        problem = refused(project(f"s3://{bucket}/p"), "logs_rights")
    finally:
        s3.asks_for_rights(False)
    for right in ALL:
        assert right in problem.hint
    assert re.search(what, problem.message)
    named = [right for right in ALL if right in problem.message]
    assert named == [right for right in ALL if right not in may]


def test_with_all_rights_and_no_more_it_works(s3, monkeypatch):
    bucket, keys = s3.bucket(), s3.user(*ALL)
    for name, value in keys.items():
        monkeypatch.setenv(name, value)
    s3.asks_for_rights(True)
    try:
        check(f"s3://{bucket}/p")
    finally:
        s3.asks_for_rights(False)


def test_a_key_that_nobody_knows_is_no_missing_right(s3, project, monkeypatch):
    bucket = s3.bucket()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIANOBODY")
    s3.asks_for_rights(True)
    try:
        problem = refused(project(f"s3://{bucket}"), "logs_credentials")
    finally:
        s3.asks_for_rights(False)
    assert "AWS_ACCESS_KEY_ID" in problem.hint


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_where_nobody_may_write(tmp_path, project):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    problem = refused(project(str(closed / "logs")), "logs_rights")
    assert "cannot write in the folder" in problem.message


def test_a_file_where_the_folder_should_be_does_not_hold_up_a_run(tmp_path, project):
    (tmp_path / "logs").write_text("")
    with pytest.raises(LogStoreError, match="cannot write in the folder"):
        check(f"file://{tmp_path}/logs")


def test_variables_win_over_the_files_of_aws(tmp_path):
    folder = tmp_path / ".aws"
    folder.mkdir()
    (folder / "config").write_text("[default]\nregion = eu-west-1\n[profile team]\n"
                                   "region = eu-north-1\nendpoint_url = http://here:1\n")
    (folder / "credentials").write_text("[default]\naws_access_key_id = a\n"
                                        "aws_secret_access_key = b\n[team]\n"
                                        "aws_access_key_id = c\naws_secret_access_key = d\n"
                                        "aws_session_token = e\n")
    home = {"HOME": str(tmp_path)}
    assert aws_options(home) == {"region": "eu-west-1", "access_key_id": "a",
                                 "secret_access_key": "b"}
    assert aws_options({**home, "AWS_PROFILE": "team"}) == {
        "endpoint": "http://here:1", "region": "eu-north-1", "access_key_id": "c",
        "secret_access_key": "d", "session_token": "e"}
    assert aws_options({**home, "AWS_ACCESS_KEY_ID": "z", "AWS_REGION": "us-west-2"}) == {
        "region": "us-west-2"}
    (folder / "config").write_text("no section\n")
    assert aws_options(home)["access_key_id"] == "a"
