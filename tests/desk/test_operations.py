"""Rules for every public operation of the desk, found by reflection so that none is forgotten.

A request may be a struct or the wire's mapping, an invalid argument raises InvalidError that names it, and a closed
desk refuses everything.
"""

import asyncio
import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any, NamedTuple, cast, get_args, get_origin

import msgspec
import pytest

from copydesk.desk import Desk
from copydesk.errors import DeskClosedError, InvalidError
from copydesk.model.draft import Action, Format
from copydesk.model.engagement import RecordEngagement
from copydesk.model.experiment import ChangeExperiment, ExperimentAction, NewExperiment, Variant
from copydesk.model.requests import AttachImage, BulkChange, ChangeDraft, CreateDraft
from copydesk.model.rule import ChangeRule, NewRule, RuleKind
from copydesk.model.run import RunRequest, RunStatus
from copydesk.model.schedule import Slot
from copydesk.model.serialization import to_json
from copydesk.model.source import ChangeSource, NewSource, SourceConfig
from copydesk.model.voice import ChangeVoice, FormatVoice
from copydesk.model.webhook import NewWebhook
from copydesk.model.writer import NewEndpoint
from desk_fixtures import NOW, URL_ONE, FakeWeb, create_source, entry, feed, list_drafts, open_desk_at
from desk_operations import OPERATIONS, RESOURCES, call, get_resource, parameters

JUNK = {"junk": 1}


def takes_request(parameter: inspect.Parameter) -> bool:
    """Return True if the argument is a request: a struct or a mapping, or a list of these."""
    types = [parameter.annotation, *get_args(parameter.annotation)]
    return any(Mapping[str, object] in get_args(declared) for declared in types)


CHECKED_PARAMETERS = [
    (operation, parameter.name)
    for operation in OPERATIONS
    for parameter in parameters(operation)
    if parameter.kind is not parameter.VAR_KEYWORD
]
FILTERED_OPERATIONS = [
    operation
    for operation in OPERATIONS
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters(operation))
]
REQUEST_OPERATIONS = [operation for operation in OPERATIONS if any(map(takes_request, parameters(operation)))]


def sample_argument(parameter: inspect.Parameter) -> object:
    """Return an argument of the declared type."""
    declared = parameter.annotation
    samples: dict[object, object] = {str: "x", int: 1, bytes: b"", datetime: NOW, date: NOW.date(), Path: Path("x")}
    if declared in samples:
        return samples[declared]
    if inspect.isclass(declared) and issubclass(declared, str):
        return next(iter(cast("Any", declared)))
    return {} if get_origin(declared) is Mapping else ()


def test_all_resources_are_found():
    expected = {
        "drafts",
        "drafts.views",
        "drafts.images",
        "drafts.activity",
        "drafts.comments",
        "pipeline",
        "sources",
        "generation",
        "schedule",
        "posting",
    }
    expected |= {
        "accounts",
        "engagement",
        "experiments",
        "voice",
        "job_leases",
        "schedule.due_drafts",
        "backups",
        "stories",
        "writers",
        "retention",
        "ids",
        "events",
        "webhooks",
        "tokens",
        "reviewers",
        "idempotency",
        "learning",
        "ranking",
        "rules",
    }
    assert set(RESOURCES) == expected
    assert len(OPERATIONS) > 100


async def test_closed_desk_refuses_every_operation(tmp_path):
    async with open_desk_at(tmp_path) as desk:
        methods = {operation: get_resource(desk, operation) for operation in OPERATIONS}
        methods |= {name: getattr(desk, name) for name in ("change_counter", "release_memory")}
    accepted = []
    for operation, method in methods.items():
        # Without arguments: an operation that asks for them first was not refused.
        try:
            await call(method)
        except DeskClosedError:
            continue
        except TypeError:
            pass
        accepted.append(operation)
    assert accepted == []
    with pytest.raises(DeskClosedError, match="The desk is closed"):
        await methods["drafts.queue"]()


@pytest.mark.parametrize("resource", sorted({operation.rpartition(".")[0] for operation, _ in CHECKED_PARAMETERS}))
async def test_junk_is_refused_by_name(tmp_path, resource):
    accepted = []
    async with open_desk_at(tmp_path) as desk:
        for operation, junk_name in CHECKED_PARAMETERS:
            if operation.rpartition(".")[0] == resource:
                args, kwargs = arguments_with_junk(operation, junk_name)
                try:
                    await call(get_resource(desk, operation), *args, **kwargs)
                except InvalidError as error:
                    if names_parameter(error, junk_name):
                        continue
                accepted.append((operation, junk_name))
    assert accepted == []


async def test_unknown_value_is_refused_with_the_values_that_are_taken(tmp_path):
    async with open_desk_at(tmp_path) as desk:
        with pytest.raises(InvalidError, match="status: takes one of active, concluded, archived"):
            await desk.experiments.list(status="done")
        with pytest.raises(InvalidError, match="metric: takes one of interactions, rate"):
            await desk.engagement.trends(metric="likes")


def arguments_with_junk(operation: str, junk_name: str) -> tuple[list[object], dict[str, object]]:
    """Return arguments of the declared types, but for one."""
    args: list[object] = []
    kwargs: dict[str, object] = {}
    for parameter in parameters(operation):
        if parameter.name == junk_name:
            argument: object = JUNK
        elif parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD:
            argument = sample_argument(parameter)
        else:
            continue
        if parameter.kind is parameter.KEYWORD_ONLY:
            kwargs[parameter.name] = argument
        elif parameter.kind is parameter.VAR_POSITIONAL or parameter.default is parameter.empty:
            args.append(argument)
        else:
            kwargs[parameter.name] = argument
    return args, kwargs


def names_parameter(error: InvalidError, name: str) -> bool:
    """Return True if one of the error's fields is the parameter of this name, or is inside it."""
    first, *rest = name.split("_")
    wire_name = first + "".join(word.title() for word in rest)
    fields = [problem.field for problem in error.errors]
    return any(field in ("junk", wire_name) or field.startswith((f"{wire_name}[", f"{wire_name}.")) for field in fields)


@pytest.mark.parametrize(
    "operation",
    [name for name in OPERATIONS if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters(name))],
)
async def test_unknown_filter_is_refused(tmp_path, operation):
    async with open_desk_at(tmp_path) as desk:
        args = [
            sample_argument(parameter)
            for parameter in parameters(operation)
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        ]
        with pytest.raises(InvalidError, match="junk: unknown field"):
            await call(get_resource(desk, operation), *args, **JUNK)


class Example(NamedTuple):
    """A call with a request."""

    request: msgspec.Struct | list[msgspec.Struct]
    problem: dict[str, object]
    """A field with an invalid value, as both ways in name it: snake_case."""
    arguments: Callable[[Desk], Awaitable[tuple[object, ...]]] | None = None
    """Prepares the desk and returns the arguments before the request."""
    options: Mapping[str, object] = {}


async def draft_id(desk: Desk) -> tuple[object, ...]:
    return ((await desk.drafts.create({"text": "A ferry to Brno."})).drafts[0].id,)


async def source_id(desk: Desk) -> tuple[object, ...]:
    return ((await create_source(desk)).id,)


async def experiment_id(desk: Desk) -> tuple[object, ...]:
    return ((await desk.experiments.create(EXPERIMENT)).id,)


async def run_pipeline(desk: Desk) -> tuple[object, ...]:
    await source_id(desk)
    await desk.pipeline.run()
    return ()


async def draft_with_proposed_image(desk: Desk) -> tuple[object, ...]:
    await run_pipeline(desk)
    return ((await list_drafts(desk))[0].id,)


async def bulk_arguments(desk: Desk) -> tuple[object, ...]:
    return Action.REJECT, await draft_id(desk)


EXPERIMENT = NewExperiment(
    name="Openings",
    parameter="hook",
    variants=(
        Variant(id="a", label="Question", config={"hook": "question"}),
        Variant(id="b", label="Number", config={"hook": "number"}),
    ),
)
VOICE = ChangeVoice(style="Plain.", formats={Format.SHORT: FormatVoice(hashtags=2)})
SOURCE = NewSource(type="rss", url=URL_ONE, config=SourceConfig(weight=2))


async def rule_id(desk: Desk) -> tuple[str]:
    """Return the id of a rule."""
    return ((await desk.rules.add({"kind": "avoid", "term": "synergy"})).id,)


EXAMPLES: dict[str, Example] = {
    "rules.add": Example(NewRule(kind=RuleKind.EXCLUDE, term="giveaway"), {"term": 5}),
    "rules.change": Example(ChangeRule(enabled=False), {"kind": "other"}, rule_id),
    "drafts.create": Example(CreateDraft(text="A feed asks nothing.", tags=("feeds",)), {"text": 5}),
    "drafts.change": Example(
        ChangeDraft(action=Action.REJECT, text="Another text.", feedback="Too long."),
        {"scheduled_at": "soon"},
        draft_id,
    ),
    "drafts.images.attach": Example(AttachImage(alt="A ferry"), {"image": "first"}, draft_with_proposed_image),
    "drafts.bulk": Example(BulkChange(action=Action.APPROVE, ids=("one", "two")), {"ids": "one"}),
    "drafts.bulk_all": Example(ChangeDraft(feedback="Too long."), {"feedback": object()}, bulk_arguments),
    "engagement.record": Example(RecordEngagement(draft_id="?", platform="x", likes=3), {"likes": "many"}),
    "experiments.create": Example(EXPERIMENT, {"variants": 3}),
    "experiments.change": Example(
        ChangeExperiment(action=ExperimentAction.CONCLUDE, winner="a", reason="Enough seen."),
        {"action": "end"},
        experiment_id,
    ),
    "voice.update": Example(VOICE, {"formats": {"SHORT": {"hashtags": "all"}}}),
    "voice.preview": Example(VOICE, {"style": object()}, run_pipeline, {"format": Format.SHORT}),
    "voice.compare": Example(VOICE, {"style": object()}, run_pipeline, {"format": Format.SHORT}),
    "pipeline.run": Example(RunRequest(max_drafts=2), {"max_drafts": "all"}),
    "pipeline.queue": Example(RunRequest(formats=("SHORT",), due=True), {"formats": ["POEM"]}),
    "sources.create": Example(SOURCE, {"url": 5}),
    "sources.test_candidate": Example(SOURCE, {"config": SourceConfig(weight=11)}),
    "sources.update": Example(ChangeSource(name="Mine", enabled=False), {"enabled": "no"}, source_id),
    "writers.add": Example(NewEndpoint(name="local", model="m", base_url="http://localhost/v1"), {"name": 5}),
    "webhooks.create": Example(NewWebhook(url="https://hooks.example/copydesk"), {"url": 5}),
    "schedule.set_slots": Example([Slot(day_of_week=1, hour=9, minute=0)], {"hour": 25}),
}


def test_every_operation_with_request_has_example():
    assert set(REQUEST_OPERATIONS) == set(EXAMPLES)


async def outcome(home: Path, operation: str, request: object) -> str:
    """Return the result of the operation on a new desk, or its error, without ids and timing."""
    web = FakeWeb()
    picture = '<enclosure url="https://one.example/ferry.jpg" type="image/jpeg"/></item>'
    web.put(URL_ONE, feed(entry(1)).replace(b"</item>", picture.encode()))
    example = EXAMPLES[operation]
    async with open_desk_at(home, web) as desk:
        args = await example.arguments(desk) if example.arguments else ()
        if operation == "engagement.record":
            (existing_id,) = await draft_id(desk)
            request = with_fields(request, {"draft_id": existing_id})
        try:
            result = to_json(await call(get_resource(desk, operation), *args, request, **example.options))
        except InvalidError as error:
            result = repr(error.errors)
    without_timing = re.sub(r'"(stageTiming|duration)":({.*?}|[0-9.]+)', "", result)
    without_secrets = re.sub(r"whsec_[\w+/=]+", "SECRET", without_timing)
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "ID", without_secrets)


def with_fields(request: object, fields: Mapping[str, object]) -> Any:
    """Return the request with other values for some fields."""
    if isinstance(request, list):
        return [with_fields(entry, fields) for entry in request]
    if isinstance(request, msgspec.Struct):
        return msgspec.structs.replace(request, **fields)
    assert isinstance(request, dict)
    names = {name: re.sub("_([a-z])", lambda match: match[1].upper(), name) for name in fields}
    return request | {names[name]: value for name, value in fields.items()}


@pytest.mark.parametrize("operation", EXAMPLES)
async def test_struct_and_mapping_are_the_same(tmp_path, operation):
    request, problem = EXAMPLES[operation].request, EXAMPLES[operation].problem
    mapping = msgspec.to_builtins(request)
    valid = await outcome(tmp_path / "one", operation, request)
    assert valid == await outcome(tmp_path / "two", operation, mapping)
    invalid = await outcome(tmp_path / "three", operation, with_fields(request, problem))
    assert invalid == await outcome(tmp_path / "four", operation, with_fields(mapping, problem))
    assert invalid.startswith("(FieldError(")
    assert not valid.startswith("(FieldError(")


async def test_run_is_cancelled_when_desk_closes(tmp_path):
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1)))
    response = web.hold(URL_ONE)
    async with open_desk_at(tmp_path, web) as desk:
        await create_source(desk)
        run = asyncio.create_task(desk.pipeline.run())
        await response.requested.wait()
    assert (await run).status is RunStatus.CANCELLED
    async with open_desk_at(tmp_path, web) as desk:
        (stored,) = (await desk.pipeline.list()).items
    assert stored.status is RunStatus.CANCELLED
