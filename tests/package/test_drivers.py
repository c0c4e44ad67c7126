"""The same operations through the library, the command line, HTTP and MCP give the same results and errors."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from mcp.client.client import Client

from cli_runner import run_in_process
from copydesk.desk import Desk, open_desk
from copydesk.errors import CopydeskError
from copydesk.http.operations import Operation
from copydesk.http.table import OPERATIONS
from copydesk.mcp.server import Connection, create_server
from copydesk.model.serialization import to_json_value
from copydesk.model.token import Scope
from copydesk.problems import to_problem
from copydesk.settings import load
from http_service import run_service

Json = Any
Names = dict[str, str]
"""Ids by the names that steps gave them."""
AT = "2031-05-05T09:00:00Z"
VARIANTS = [
    {"id": "a", "label": "none", "config": {"hashtags": 0}},
    {"id": "b", "label": "two", "config": {"hashtags": 2}},
]


class Step(NamedTuple):
    """One operation as each driver calls it. `$name` stands for an id that an earlier step has named."""

    library: Callable[[Desk, Names], Awaitable[object]]
    cli: str
    """The words of the command, separated by `|`."""
    method: str
    path: str
    body: Json = None
    saves: tuple[str, Callable[[Json], str]] | None = None
    """The name of an id, and where it is in the result."""


STEPS = {
    "create": Step(
        lambda desk, _: desk.drafts.create({"text": "The harbour is open.", "tags": ["sea"]}),
        "draft|new|The harbour is open.|--tag|sea",
        "POST",
        "/drafts",
        {"text": "The harbour is open.", "tags": ["sea"]},
        ("draft", lambda result: result["drafts"][0]["id"]),
    ),
    "list": Step(lambda desk, _: _page(desk, "drafts"), "draft|list", "GET", "/drafts"),
    "list with filters": Step(
        lambda desk, _: _page(desk, "drafts", status="approved", tags="sea", limit=5),
        "draft|list|--status|approved|--tag|sea|--limit|5",
        "GET",
        "/drafts?status=approved&tags=sea&limit=5",
    ),
    "get": Step(lambda desk, names: desk.drafts.get(names["draft"]), "draft|show|$draft", "GET", "/drafts/$draft"),
    "edit": Step(
        lambda desk, names: desk.drafts.edit(names["draft"], "The harbour is closed."),
        "draft|edit|$draft|--text|The harbour is closed.",
        "PATCH",
        "/drafts/$draft",
        {"text": "The harbour is closed."},
    ),
    "approve": Step(
        lambda desk, names: desk.drafts.approve(names["draft"]),
        "draft|approve|$draft",
        "PATCH",
        "/drafts/$draft",
        {"action": "approve"},
    ),
    "approve again": Step(
        lambda desk, names: desk.drafts.approve(names["draft"]),
        "draft|approve|$draft",
        "PATCH",
        "/drafts/$draft",
        {"action": "approve"},
    ),
    "unknown draft": Step(
        lambda desk, _: desk.drafts.get("01900000-0000-7000-8000-000000000000"),
        "draft|show|01900000-0000-7000-8000-000000000000",
        "GET",
        "/drafts/01900000-0000-7000-8000-000000000000",
    ),
    "empty text": Step(
        lambda desk, _: desk.drafts.create({"text": "", "tags": ["a" * 51]}),
        f"draft|new||--tag|{'a' * 51}",
        "POST",
        "/drafts",
        {"text": "", "tags": ["a" * 51]},
    ),
    "schedule without slots": Step(
        lambda desk, names: desk.schedule.schedule_next(names["draft"]),
        "draft|schedule|$draft",
        "POST",
        "/schedule/next",
        {"draftId": "$draft"},
    ),
    "slots": Step(
        lambda desk, _: desk.schedule.set_slots([{"dayOfWeek": 1, "hour": 9, "minute": 0}]),
        "slot|set|mon 09:00",
        "PUT",
        "/schedule/slots",
        [{"dayOfWeek": 1, "hour": 9, "minute": 0}],
    ),
    "schedule": Step(
        lambda desk, names: desk.drafts.schedule(names["draft"], AT),  # type: ignore[arg-type] # as on the wire
        f"draft|schedule|$draft|--at|{AT}",
        "PATCH",
        "/drafts/$draft",
        {"action": "schedule", "scheduledAt": AT},
    ),
    "conflicts": Step(
        lambda desk, _: desk.schedule.conflicts(AT),  # type: ignore[arg-type] # as on the wire
        f"schedule|conflicts|--at|{AT}",
        "GET",
        f"/schedule/conflicts?scheduledAt={AT}",
    ),
    "auto": Step(lambda desk, _: desk.schedule.auto_schedule(), "schedule|auto|--yes", "POST", "/schedule/auto", {}),
    "cancel": Step(
        lambda desk, names: desk.drafts.cancel_schedule(names["draft"]),
        "draft|unschedule|$draft",
        "PATCH",
        "/drafts/$draft",
        {"action": "cancel_schedule"},
    ),
    "bulk": Step(
        lambda desk, names: desk.drafts.bulk({"action": "reject", "ids": [names["draft"]], "feedback": "Old."}),
        "draft|reject|$draft|--feedback|Old.|--bulk",
        "POST",
        "/drafts/bulk",
        {"action": "reject", "ids": ["$draft"], "feedback": "Old."},
    ),
    "voice": Step(
        lambda desk, _: desk.voice.update({"style": "Dry.", "avoid": ["game changer"]}),
        "voice|set|--style|Dry.|--avoid|game changer",
        "PUT",
        "/voice",
        {"style": "Dry.", "avoid": ["game changer"]},
    ),
    "experiment": Step(
        lambda desk, _: desk.experiments.create({"name": "Tags", "parameter": "hashtags", "variants": VARIANTS}),
        "experiment|new|Tags|hashtags|--variant|none=0|--variant|two=2",
        "POST",
        "/experiments",
        {"name": "Tags", "parameter": "hashtags", "variants": VARIANTS},
        ("experiment", lambda result: result["id"]),
    ),
    "conclude": Step(
        lambda desk, names: desk.experiments.conclude(names["experiment"], "b", "Enough seen."),
        "experiment|conclude|$experiment|--winner|b|--reason|Enough seen.",
        "PATCH",
        "/experiments/$experiment",
        {"action": "conclude", "winner": "b", "reason": "Enough seen."},
    ),
    "engagement": Step(
        lambda desk, names: desk.engagement.record(
            {"draftId": names["draft"], "platform": "x", "likes": 3, "impressions": 90}
        ),
        "engagement|record|$draft|x|--likes|3|--impressions|90",
        "POST",
        "/engagement",
        {"draftId": "$draft", "platform": "x", "likes": 3, "impressions": 90},
    ),
    "summary": Step(lambda desk, _: desk.engagement.summary(), "engagement|show", "GET", "/engagement"),
    "trends": Step(lambda desk, _: desk.engagement.trends(), "engagement|trends", "GET", "/engagement/trends"),
    "sources": Step(lambda desk, _: desk.sources.list(), "source|list", "GET", "/sources"),
    "runs": Step(lambda desk, _: _page(desk, "runs"), "run|list", "GET", "/pipeline/runs"),
    "statistics": Step(lambda desk, _: desk.pipeline.statistics(), "run|stats", "GET", "/pipeline/stats"),
}


async def _page(desk: Desk, name: str, **filters: Any) -> object:
    page = await (desk.drafts.list(**filters) if name == "drafts" else desk.pipeline.list(**filters))
    return {name: page.items, "nextCursor": page.next_cursor}


def run_library(home: Path) -> list[Json]:
    async def run() -> list[Json]:
        results, names = [], Names()
        async with open_desk(load({}, home)) as desk:
            for step in STEPS.values():
                try:
                    result = to_json_value(await step.library(desk, names))
                except CopydeskError as error:
                    result = to_json_value(to_problem(error))
                results.append(_save(step, names, result))
        return results

    return asyncio.run(run())


def run_command_line(home: Path) -> list[Json]:
    results, names = [], Names()
    for step in STEPS.values():
        called = run_in_process(home, *_fill(step.cli, names).split("|"), "--json")
        results.append(_save(step, names, json.loads(called.out or called.err)))
    return results


def run_http(home: Path) -> list[Json]:
    async def run() -> list[Json]:
        results, names = [], Names()
        async with run_service(home) as service:
            client = await service.client()
            for step in STEPS.values():
                body = None if step.body is None else json.loads(_fill(json.dumps(step.body), names))
                response = await client.request(step.method, _fill(step.path, names), json=body)
                results.append(_save(step, names, response.json()))
        return results

    return asyncio.run(run())


def run_mcp(home: Path) -> list[Json]:
    async def run() -> list[Json]:
        results, names = [], Names()
        async with run_service(home) as service:
            client = await service.client()

            async def connect(_: object) -> Connection:
                return Connection(client, Scope.PUBLISH, {})

            async with Client(create_server(OPERATIONS, connect)) as agent:
                for step in STEPS.values():
                    tool, arguments = _tool_call(step, names)
                    content = (await agent.call_tool(tool, arguments)).structured_content
                    is_list = list(content) == ["items"]
                    results.append(_save(step, names, content["items"] if is_list else content))
        return results

    return asyncio.run(run())


def _tool_call(step: Step, names: Names) -> tuple[str, dict[str, Json]]:
    """Return the tool and the arguments for a step's request."""
    path, _, query = _fill(step.path, names).partition("?")
    operation = next(operation for operation in OPERATIONS if _matches(operation, step.method, path))
    arguments: dict[str, Json] = dict(part.split("=", 1) for part in query.split("&") if part)
    if "{id}" in operation.path:
        arguments["id"] = path.split("/")[2]
    body = json.loads(_fill(json.dumps(step.body), names))
    return operation.id, arguments | ({"items": body} if isinstance(body, list) else body or {})


def _matches(operation: Operation, method: str, path: str) -> bool:
    pattern = operation.path.replace("{id}", "[^/]+")
    literal_first = operation.path != "/drafts/{id}" or path != "/drafts/bulk"
    return operation.method == method and literal_first and re.fullmatch(pattern, path) is not None


def _fill(text: str, names: Names) -> str:
    for name, value in names.items():
        text = text.replace(f"${name}", value)
    return text


def _save(step: Step, names: Names, result: Json) -> Json:
    if step.saves is not None:
        name, find = step.saves
        names[name] = find(result)
    return result


_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"20\d\d-\d\d-\d\dT[\d:.]+Z")


def normalize(value: Json) -> Json:
    """Return a result without what differs from one desk to the next, and without what only people read."""
    if isinstance(value, dict):
        # An agent's drafts name the agent; the hints of a problem name commands.
        ignored = {"agent", "writer", "hint"}
        return {name: normalize(inner) for name, inner in value.items() if name not in ignored}
    if isinstance(value, list):
        return [normalize(inner) for inner in value]
    if isinstance(value, str):
        return _TIME.sub("<time>", _ID.sub("<id>", value))
    return value


DRIVERS: Sequence[Callable[[Path], list[Json]]] = (run_command_line, run_http, run_mcp)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[Json]:
    return run_library(tmp_path_factory.mktemp("library"))


@pytest.mark.parametrize("driver", DRIVERS)
def test_driver_gives_the_results_of_the_library(
    driver: Callable[[Path], list[Json]], expected: list[Json], tmp_path: Path
) -> None:
    results = driver(tmp_path)
    differences = {
        name: (normalize(result), normalize(reference))
        for name, result, reference in zip(STEPS, results, expected, strict=True)
        if normalize(result) != normalize(reference)
    }
    assert differences == {}


def test_steps_fail_where_they_should(expected: list[Json]) -> None:
    problems = {name: result["status"] for name, result in zip(STEPS, expected, strict=True) if "detail" in result}
    assert problems == {
        "approve again": 409,
        "unknown draft": 404,
        "empty text": 422,
        "schedule without slots": 409,
    }
