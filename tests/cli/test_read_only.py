"""Tests for a desk that can be read, but not written: on a read-only disk, or of another owner."""

import asyncio
import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli_runner import CommandResult, assert_one_line_error, error_text, run_command
from desk_fixtures import URL_ONE, create_source, open_desk_at

CAP_DAC_OVERRIDE, PR_CAPBSET_DROP = 1, 24


def obey_permissions() -> None:
    """Make the permissions of files count for root too, once the program is started."""
    if os.geteuid() == 0:
        ctypes.CDLL(None, use_errno=True).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A read-only desk with a draft and a source, and the draft's id."""
    home = tmp_path_factory.mktemp("read-only")
    draft_id = asyncio.run(fill(home))
    (home / "copydesk.db").chmod(0o444)
    home.chmod(0o555)
    yield home, draft_id
    home.chmod(0o755)


async def fill(home: Path) -> str:
    async with open_desk_at(home) as desk:
        await create_source(desk, URL_ONE)
        return (await desk.drafts.create({"text": "The ferry sails at dawn."})).drafts[0].id


def run_read_only(home: Path, *args: str) -> CommandResult:
    return run_command(home, *args, limit=obey_permissions)


@pytest.mark.parametrize(
    ("args", "shows"),
    [
        (("draft", "show", "ID"), "The ferry sails"),
        (("source", "export"), URL_ONE),
        (("doctor",), "is read-only: nothing can be changed."),
    ],
    ids=str,
)
def test_read_only_desk_is_read(desk: tuple[Path, str], args: tuple[str, ...], shows: str) -> None:
    home, draft_id = desk
    result = run_read_only(home, *(draft_id if arg == "ID" else arg for arg in args))
    assert (result.code, shows in result.out) == (0, True), result


@pytest.mark.parametrize(
    "args",
    [("draft", "approve", "ID"), ("draft", "approve", "--all-matching", "--yes"), ("--run-pipeline", "--json")],
    ids=str,
)
def test_change_of_read_only_desk_is_refused(desk: tuple[Path, str], args: tuple[str, ...]) -> None:
    home, draft_id = desk
    result = run_read_only(home, *(draft_id if arg == "ID" else arg for arg in args))
    assert_one_line_error(result, 1)
    assert error_text(result) == (
        f"{home}/copydesk.db is read-only; nothing changed."
        " Check the owner of the file and its folder, and how the disk is mounted."
    )


def test_doctor_reports_a_folder_in_which_no_desk_can_be_created(tmp_path: Path) -> None:
    folder = tmp_path / "read-only"
    folder.mkdir(mode=0o555)
    result = run_read_only(folder / "new", "doctor")
    assert (result.code, f"cannot be created: {folder} is read-only." in result.out) == (1, True), result
