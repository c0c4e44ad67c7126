"""Tests for `copydesk worker` where it cannot run. Those for what it does need a PostgreSQL server."""

import sys

import pytest

from cli_runner import assert_one_line_error, run_in_process


@pytest.mark.sqlite("a file is refused")
def test_desk_in_a_file_is_refused(tmp_path):
    result = run_in_process(tmp_path, "worker")
    assert_one_line_error(result, 2)
    assert "Workers share a PostgreSQL database, and this desk is a file." in result.err
    assert "copydesk" in result.err
    assert "daemon" in result.err


def test_missing_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "copydesk.worker", raising=False)
    monkeypatch.setitem(sys.modules, "procrastinate", None)
    result = run_in_process(tmp_path, "worker")
    assert result.code == 2
    assert "pip install '.[cluster]'" in result.err


def test_user_is_refused(tmp_path):
    result = run_in_process(tmp_path, "--user", "anna", "worker")
    assert result.code == 2
    assert "Leave out --user" in result.err
