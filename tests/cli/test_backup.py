"""Tests for `copydesk backup` and `copydesk restore`."""

import json
import resource
import signal
import subprocess
from pathlib import Path

import pytest

from cli_runner import COMMAND, assert_one_line_error, make_environment, run_command, run_in_process
from desk_fixtures import execute_sql, query_db

COUNT = "SELECT count(*) FROM draft"


def create_draft(home: Path) -> None:
    assert run_in_process(home, "draft", "new", "My own words.").code == 0


def test_backup_and_restore(tmp_path: Path) -> None:
    create_draft(tmp_path)
    made = run_in_process(tmp_path, "backup")
    (path,) = (tmp_path / "backups").iterdir()
    assert (made.code, made.out) == (0, f"Backed up 1 draft, 0 sources, 0 posts ({size(path)}) to {path}.\n")
    assert made.err == "Not included: images, settings, account credentials.\n"
    create_draft(tmp_path)

    restored = run_in_process(tmp_path, "restore", str(path), "--yes")

    assert (restored.code, restored.err) == (0, "")
    done, kept = restored.out.splitlines()
    assert done == f"Restored 1 draft, 0 sources, 0 posts ({size(path)}) from {path}."
    replaced = Path(kept.removeprefix("The replaced database is kept as ").removesuffix("."))
    assert replaced.is_file()
    assert replaced != path
    assert query_db(tmp_path, COUNT) == [(1,)]


def size(path: Path) -> str:
    return f"{path.stat().st_size / 2**20:.1f} MiB"


def test_output_as_json(tmp_path: Path) -> None:
    create_draft(tmp_path)
    target = tmp_path / "copy.db"
    content = json.loads(run_in_process(tmp_path, "backup", str(target), "--json").out)
    assert content.pop("revision")
    assert content == {"path": str(target), "size": target.stat().st_size, "drafts": 1, "sources": 0, "posts": 0}
    restored = json.loads(run_in_process(tmp_path, "restore", str(target), "--yes", "--json").out)
    assert restored["content"].items() >= content.items()
    assert Path(restored["replaced"]).exists()
    made = json.loads(run_in_process(tmp_path, "backup", "--json").out)
    listed = json.loads(run_in_process(tmp_path, "backup", "--list", "--json").out)
    (found,) = [backup for backup in listed if backup["path"] == made["path"]]
    assert (Path(found["path"]).parent, found["automatic"]) == (tmp_path / "backups", False)


@pytest.mark.sqlite("automatic backups")
def test_backups_are_listed(tmp_path: Path) -> None:
    assert run_in_process(tmp_path, "backup", "--list").out == ""
    run_in_process(tmp_path, "daemon", "--once")
    result = run_in_process(tmp_path, "backup", "--list")
    (path,) = (tmp_path / "backups").iterdir()
    assert (result.code, result.out.split()[-2:]) == (0, ["automatic", str(path)])


@pytest.mark.parametrize(
    ("name", "meant"),
    [("list", "copydesk backup --list"), ("new", "copydesk backup"), ("restore", "copydesk restore FILE")],
)
def test_file_is_no_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, meant: str) -> None:
    create_draft(tmp_path)
    monkeypatch.chdir(tmp_path)
    result = run_in_process(tmp_path, "backup", name)
    assert_one_line_error(result, 2)
    assert f"Use `{meant}`, or" in result.err
    with_home = run_in_process(tmp_path / "environment", "--home", str(tmp_path), "backup", name)
    assert f"Use `{meant.replace('copydesk', f'copydesk --home {tmp_path}')}`, or" in with_home.err
    assert not Path(name).exists()
    assert run_in_process(tmp_path, "backup", f"{name}.db").code == 0


def test_existing_file_needs_force(tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    target.write_text("mine")
    assert_one_line_error(run_in_process(tmp_path, "backup", str(target)), 4)
    assert target.read_text() == "mine"
    assert run_in_process(tmp_path, "backup", str(target), "--force").code == 0


def test_restore_is_confirmed(tmp_path: Path) -> None:
    create_draft(tmp_path)
    run_in_process(tmp_path, "backup", str(tmp_path / "copy.db"))
    create_draft(tmp_path)

    unanswered = run_in_process(tmp_path, "restore", str(tmp_path / "copy.db"))
    refused = run_in_process(tmp_path, "restore", str(tmp_path / "copy.db"), stdin="n\n")

    assert (unanswered.code, refused.code) == (1, 1)
    assert "Use --yes to skip the confirmation." in unanswered.err
    assert query_db(tmp_path, COUNT) == [(2,)]
    assert run_in_process(tmp_path, "restore", str(tmp_path / "copy.db"), stdin="y\n").code == 0
    assert query_db(tmp_path, COUNT) == [(1,)]


@pytest.mark.sqlite("its own database is a file")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.db", "does not exist."),
        ("notes.txt", "is not a readable database."),
        ("copydesk.db", "is the desk's own database."),
    ],
)
def test_unusable_backup_is_refused_without_a_question(tmp_path: Path, name: str, message: str) -> None:
    create_draft(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    result = run_in_process(tmp_path, "restore", str(tmp_path / name), stdin="y\n")
    assert result.code in {1, 4}
    assert result.err.startswith(f"Error: {tmp_path / name} {message}")
    assert query_db(tmp_path, COUNT) == [(1,)]


def test_restore_is_refused_while_the_daemon_runs(tmp_path: Path) -> None:
    run_in_process(tmp_path, "backup", str(tmp_path / "copy.db"))
    daemon = subprocess.Popen([*COMMAND, "daemon"], env=make_environment(tmp_path), stderr=subprocess.PIPE, text=True)
    with daemon:
        assert daemon.stderr
        assert daemon.stderr.readline().startswith("Running.")
        result = run_in_process(
            tmp_path, "restore", str(tmp_path / "copy.db"), "--yes", copydesk_database__busy_timeout="0"
        )
        daemon.send_signal(signal.SIGKILL)
        daemon.communicate(timeout=60)

    assert_one_line_error(result, 1)
    assert "The desk is open in another process; nothing changed. Quit the console and stop the daemon" in result.err
    # The lock ends with its holder, even with one that was killed.
    assert run_in_process(tmp_path, "restore", str(tmp_path / "copy.db"), "--yes").code == 0


@pytest.mark.sqlite("a damaged file")
def test_advice_is_a_command_that_works(tmp_path: Path) -> None:
    home = tmp_path / "a desk's home"
    create_draft(home)
    run_in_process(home, "backup")
    (home / "copydesk.db").write_bytes(b"")

    damaged = run_in_process(home, "draft", "list")

    assert_one_line_error(damaged, 1)
    (path,) = (home / "backups").iterdir()
    assert "is damaged: the file is empty. Restore the newest backup: copydesk restore " in damaged.err
    advice = damaged.err.partition("backup: copydesk ")[2].strip()
    script = f'copydesk() {{ {COMMAND[0]} -m copydesk "$@"; }}; copydesk {advice} --yes'
    subprocess.run(["bash", "-c", script], env=make_environment(home), check=True, capture_output=True)
    assert query_db(home, COUNT) == [(1,)]
    assert path.exists()


@pytest.mark.sqlite("compares the tables with those of its version")
def test_development_desk_is_refused(tmp_path: Path) -> None:
    create_draft(tmp_path)
    execute_sql(tmp_path, "DROP TABLE account")

    result = run_in_process(tmp_path, "draft", "list")

    assert_one_line_error(result, 1)
    assert "A development version of Copydesk created" in result.err
    assert "Open it with that version, or move it away to start over." in result.err


def test_full_disk_is_reported(tmp_path: Path) -> None:
    create_draft(tmp_path)

    def limit_file_size() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    result = run_command(tmp_path, "backup", str(tmp_path / "copy.db"), limit=limit_file_size)

    assert_one_line_error(result, 1)
    assert "disk" in result.err
    assert sorted(file.name for file in tmp_path.iterdir() if "copy.db" in file.name) == []


def test_conflicting_options_are_usage_error(tmp_path: Path) -> None:
    assert_one_line_error(run_in_process(tmp_path, "backup", "--list", "x.db"), 2)


def test_restore_test_of_doctor(tmp_path: Path) -> None:
    create_draft(tmp_path)
    assert run_in_process(tmp_path, "doctor", "--restore-test").code == 1
    run_in_process(tmp_path, "backup")
    result = run_in_process(tmp_path, "doctor", "--restore-test")
    assert result.code == 0
    assert "can be restored: 1 draft, intact." in result.out
