"""Schemathesis: requests generated from the OpenAPI document get no 5xx, and only responses that it describes."""

import asyncio
import sys
from pathlib import Path

import pytest

from copydesk.desk import open_desks
from copydesk.http import rate_limit
from copydesk.model.token import Scope
from desk_fixtures import URL_ONE, FakeWeb, entry, feed, settings_at
from http_service import run_server
from posting_fixtures import connect_account, fake_platforms
from sampling import EXHAUSTIVE

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "ignored_auth",
    "use_after_free",
)
# The phase `coverage` alone is 1,800 requests.
PHASES = "examples,coverage,fuzzing,stateful" if EXHAUSTIVE else "examples,fuzzing,stateful"
EXAMPLES = 40 if EXHAUSTIVE else 3
OPERATION = """
[[operations]]
include-path = "{path}"
parameters = {{ id = "{id}" }}
"""


async def existing_ids(desk) -> dict[str, str]:
    """Create a resource for each path with an id; return their ids by path."""
    created = await desk.drafts.create({"text": "The harbour is open."})
    source = await desk.sources.create({"type": "rss", "url": URL_ONE, "name": "One"})
    variants = [{"id": name, "label": name, "config": {"hashtags": number}} for number, name in enumerate("ab")]
    experiment = await desk.experiments.create({"name": "Tags", "parameter": "hashtags", "variants": variants})
    await connect_account(desk)
    draft_id = created.drafts[0].id
    return {
        "/drafts/{id}": draft_id,
        "/drafts/{id}/undo": draft_id,
        "/drafts/{id}/checks": draft_id,
        "/sources/{id}": source.id,
        "/sources/{id}/test": source.id,
        "/experiments/{id}": experiment.id,
    }


async def run_schemathesis(folder: Path, url: str, token: str, *options: str) -> tuple[int, str]:
    """Return the exit code and the output."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "schemathesis.cli", "--config-file=schemathesis.toml", "run", f"{url}/openapi.json"),
        *("--header", f"Authorization: Bearer {token}", "--checks", ",".join(CHECKS), "--seed", "1"),
        # The stream has no end.
        *("--exclude-operation-id", "stream_events"),
        *("--no-shrink", "--continue-on-failure", "--suppress-health-check", "all", "--no-color", *options),
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, output.decode()


@pytest.mark.proof
async def test_responses_are_as_described(tmp_path, monkeypatch):
    monkeypatch.setattr(rate_limit, "LIMIT", 10**9)
    web = FakeWeb()
    web.put(URL_ONE, feed(entry(1), entry(2)))
    async with open_desks(settings_at(tmp_path), transport=web, platforms=fake_platforms()) as desks:
        desk = await desks.get(desks.owner)
        token = await desk.tokens.create("schemathesis", Scope.PUBLISH)
        ids = await existing_ids(desk)
        config = "".join(OPERATION.format(path=path, id=resource_id) for path, resource_id in ids.items())
        (tmp_path / "schemathesis.toml").write_text(config)
        async with run_server(desks) as url:
            code, output = await run_schemathesis(
                tmp_path, url, token.secret, "--phases", PHASES, "--max-examples", str(EXAMPLES)
            )
    assert code == 0, output
