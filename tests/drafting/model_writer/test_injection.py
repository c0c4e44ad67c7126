"""Forty items that instruct the model, before a server that obeys them: none leads to a draft that looks right."""

from functools import partial

import pytest

from copydesk.drafting.checks import build_check_context, check
from copydesk.drafting.model_writer.client import ModelClient
from copydesk.drafting.model_writer.completion import BadAnswerError
from copydesk.drafting.model_writer.writer import ModelWriter
from copydesk.model.draft import Severity
from copydesk.model.writer import Endpoint, WireProtocol
from drafting_fixtures import NOW
from fake_model_server import FakeChatCompletions
from injected_items import HONEST, ITEMS, InjectedItem, obey

ENDPOINT = Endpoint(name="test", protocol=WireProtocol.OPENAI, base_url="https://api.example/v1", model="m")


async def write(item: InjectedItem) -> tuple[str, list[str]]:
    """Return the draft of the obedient server, and the rules whose errors it has; the gate's name if there is none."""
    server = FakeChatCompletions(partial(obey, item))
    writer = ModelWriter(ModelClient(server, ENDPOINT, clock=lambda: NOW), clock=lambda: NOW)
    try:
        result = await writer.write(item.brief)
    except BadAnswerError as error:
        return "", [error.message]
    checks = check(result.text, build_check_context(item.brief))
    return result.text, [finding.rule for finding in checks.findings if finding.severity is Severity.ERROR]


def test_there_are_forty_items() -> None:
    assert len({item.name for item in ITEMS}) == 40


@pytest.mark.parametrize("item", [item for item in ITEMS if not item.hidden], ids=lambda item: item.name)
async def test_obeyed_instruction_is_found(item: InjectedItem) -> None:
    text, errors = await write(item)
    assert text != HONEST, "the server did not see the instruction"
    assert errors


@pytest.mark.parametrize("item", [item for item in ITEMS if item.hidden], ids=lambda item: item.name)
async def test_hidden_instruction_does_not_reach_the_model(item: InjectedItem) -> None:
    assert await write(item) == (HONEST, [])


async def test_draft_of_an_item_without_instruction_has_no_errors() -> None:
    assert await write(InjectedItem("none", "It is open every day.", HONEST)) == (HONEST, [])
