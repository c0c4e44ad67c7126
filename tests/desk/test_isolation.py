"""Tests that no operation tells a user anything of another, or changes what is another's.

Each operation that takes an id is called with every id of the other user, and must answer as it does for an id that
does not exist. Each that takes none must answer as on a desk on which the other user never was.
"""

import asyncio
import inspect
import re
from datetime import timedelta
from typing import Any

import pytest

from copydesk.errors import CopydeskError
from copydesk.model.filters import DraftView, Tab
from copydesk.model.ids import MIN_END_LENGTH, IdKind
from copydesk.model.serialization import to_json
from copydesk.store.ids import new_id
from desk_fixtures import NOW, query_db
from desk_operations import OPERATIONS, call, get_resource, parameters
from desks_fixtures import OWNED_TABLES, fill, open_working_desks, rows_of
from store_fixtures import copy_desk

IDS = re.compile(r"(\w+_)?(id|ids)|ends|exclude")
NAMES = {"accounts.check", "accounts.remove", "tokens.get", "tokens.revoke"}
"""Operations that take a name or an id as `name`."""
ARGUMENTS: dict[str, Any] = {
    "text": "Mine.",
    "at": NOW + timedelta(days=1),
    "scheduled_at": NOW + timedelta(days=1),
    "request": {"action": "approve"},
    "changes": {"name": "Mine"},
    "alt": "Mine.",
    "message": "Mine.",
    "action": "approve",
    "event_number": 0,
    "tab": Tab.TO_REVIEW,
    "view": DraftView(),
}
"""Arguments besides the ids, by parameter; those of an operation alone stand in `ARGUMENTS_OF`."""
ARGUMENTS_OF: dict[str, dict[str, Any]] = {
    "experiments.change": {"values": {"action": "archive"}},
    "voice.preview": {"changes": {"style": "dry"}, "format": "SHORT"},
    "drafts.bulk_all": {"request": None},
}
REQUESTS: dict[str, Any] = {
    "drafts.bulk": lambda found: {"ids": [found], "action": "approve"},
    "engagement.record": lambda found: {"draftId": found, "platform": "x", "likes": 1},
    "pipeline.queue": lambda found: {"sourceIds": [found]},
    "pipeline.run": lambda found: {"sourceIds": [found]},
}
"""Requests that contain an id, by operation."""
SHARED = {
    "accounts.vault_status": "tells of the machine, to which users of its command line have access",
    "backups.create": "the whole database",
    "backups.create_automatic": "the whole database",
    "backups.is_due": "the whole database",
    "backups.list": "the whole database",
    "drafts.history_position": "a number that only grows, of which the console needs to know that it changed",
    "drafts.images.storage": "one folder of images for all",
    "retention.compact": "the whole database",
}
"""Operations on what belongs to nobody alone, which no service offers to the users."""


@pytest.fixture(scope="module")
def filled_home(tmp_path_factory):
    """A folder with the desks of an owner who uses it and of Anna, who does not."""
    home = tmp_path_factory.mktemp("filled")

    async def create():
        async with open_working_desks(home) as desks:
            await fill(await desks.get(desks.owner), home)
            await desks.users.add("anna")

    asyncio.run(create())
    return home


@pytest.fixture
def shared_home(filled_home, tmp_path):
    """A copy of that folder."""
    return copy_desk(filled_home, tmp_path / "shared")


async def open_both(desks):
    """Return the owner's desk and Anna's."""
    return await desks.get(desks.owner), await desks.get(await desks.users.get("anna"))


def id_parameters(operation: str) -> list[inspect.Parameter]:
    return [
        parameter
        for parameter in parameters(operation)
        if IDS.fullmatch(parameter.name) or (operation in NAMES and parameter.name == "name")
    ]


WITH_IDS = sorted({operation for operation in OPERATIONS if id_parameters(operation)} | set(REQUESTS))
WITHOUT_ARGUMENTS = sorted(
    operation
    for operation in set(OPERATIONS) - set(SHARED)
    if all(
        parameter.default is not parameter.empty or parameter.kind is parameter.VAR_KEYWORD
        for parameter in parameters(operation)
    )
)


def arguments(operation: str, found: str) -> list[dict[str, Any]]:
    """Return the arguments of the calls that pass this id."""
    if operation in REQUESTS:
        (name,) = [parameter.name for parameter in parameters(operation) if parameter.name in {"request", "values"}]
        return [{name: REQUESTS[operation](found)}]
    calls = []
    for kind in IdKind if operation.startswith("ids.") else (None,):
        values = ARGUMENTS | ARGUMENTS_OF.get(operation, {}) | {"kind": kind}
        kwargs = {
            parameter.name: values[parameter.name]
            for parameter in parameters(operation)
            if parameter.default is parameter.empty and parameter.name in values
        }
        for parameter in id_parameters(operation):
            is_single = parameter.annotation in (str, str | None)
            kwargs[parameter.name] = found if is_single else (found,)
        calls.append(kwargs)
    return calls


async def outcome(desk, operation: str, kwargs: dict[str, Any], given: str = "") -> tuple[str, str]:
    """Return what the call returned or raised, without ids, ends of the one that was given, and durations."""
    try:
        kind, text = "result", to_json(await call(get_resource(desk, operation), **kwargs))
    except CopydeskError as error:
        kind, text = type(error).__name__, str(error)
    for length in range(len(given), MIN_END_LENGTH - 1, -1):
        text = text.replace(given[-length:], "ID")
    return kind, re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|\d+\.\d+(e-\d+)?", "ID", text)


def foreign_ids(home, user_id: str) -> list[str]:
    """Return one id of each kind that the user has, with names."""
    ids = []
    for table in OWNED_TABLES:
        for column in table.c:
            if column.name in {"id", "story_id", "bulk_id"}:
                query = f"SELECT max({column.name}) FROM {table.name} WHERE user_id = ?"
                ids += [value for (value,) in query_db(home, query, user_id) if isinstance(value, str)]
    return [*dict.fromkeys(ids), "agent", "fake:owner"]


@pytest.mark.parametrize("operation", WITH_IDS)
async def test_ids_of_another_user_do_not_exist(shared_home, operation):
    async with open_working_desks(shared_home) as desks:
        owner, anna = await open_both(desks)
        before = rows_of(shared_home, owner.user.id)
        to_unknown_id, to_unknown_name = [
            [await outcome(anna, operation, kwargs, unknown) for kwargs in arguments(operation, unknown)]
            for unknown in (new_id(NOW), "nobody")
        ]
        for found in foreign_ids(shared_home, owner.user.id):
            expected = to_unknown_id if "-" in found else to_unknown_name
            for kwargs, answer in zip(arguments(operation, found), expected, strict=True):
                assert await outcome(anna, operation, kwargs, found) == answer, kwargs
        assert rows_of(shared_home, owner.user.id) == before


@pytest.mark.parametrize("operation", WITHOUT_ARGUMENTS)
async def test_answers_are_those_of_a_desk_without_the_other(shared_home, tmp_path, operation):
    async with open_working_desks(shared_home) as desks:
        _, anna = await open_both(desks)
        answer = await outcome(anna, operation, {})
    async with open_working_desks(tmp_path / "alone") as desks:
        anna = await desks.get(await desks.users.add("anna"))
        assert answer == await outcome(anna, operation, {})


READERS = [operation for operation in WITH_IDS if operation.rpartition(".")[2] in {"get", "item", "resolve", "recent"}]


@pytest.mark.parametrize("operation", [*READERS, "posting.get_delivery", "posting.list_deliveries", "drafts.history"])
async def test_owner_gets_other_answers(shared_home, operation):
    """Otherwise the tests above compare nothing."""
    async with open_working_desks(shared_home) as desks:
        owner, anna = await open_both(desks)
        answers = [
            (await outcome(owner, operation, kwargs), await outcome(anna, operation, kwargs))
            for found in foreign_ids(shared_home, owner.user.id)
            for kwargs in arguments(operation, found[-6:] if operation == "ids.resolve" else found)
        ]
    assert any(of_owner != of_anna for of_owner, of_anna in answers)
