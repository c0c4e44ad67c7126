"""A made-up source type and a made-up platform, registered with one line each, go the whole way.

They stand in a package of their own in a temporary folder; no file of Copydesk knows their names.
"""

import importlib
import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.widgets import Input

from cli_runner import CommandResult, make_environment, run_command, run_in_process
from copydesk.ingest.registry import SOURCE_TYPES
from copydesk.posting.registry import PLATFORMS
from copydesk.tui.sources.source_dialogs import SourceDialog
from feed_server import FeedServer
from sources_driver import open_sources

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = {
    "__init__.py": """
from copydesk.ingest.registry import register_source_type
from copydesk.posting.registry import register_platform
from harbour import lighthouse, noticeboard

register_source_type(noticeboard.INFO)
register_platform(lighthouse.INFO)
""",
    "__main__.py": """
from copydesk.cli import main

main()
""",
    "noticeboard.py": '''
"""Source type noticeboard: the notices of one quay, as JSON."""

import msgspec

from copydesk.ingest.fetch_context import ACCEPT_JSON, fetch_body
from copydesk.ingest.urls import parse_source_url, raise_invalid
from copydesk.model.item import Entry
from copydesk.model.source import ConfigField, Credit, SourceTypeInfo

INFO = SourceTypeInfo(
    name="noticeboard",
    label="Notice board",
    reader="harbour.noticeboard",
    hosts=("notices.example",),
    config_fields=(ConfigField(name="quay", label="quay", hint="the quay, such as north", in_form=True),),
    credit=Credit.AUTHOR,
)


def normalize_url(url, config):
    if not config.options.get("quay"):
        raise_invalid("config.options.quay", "is missing; name a quay, such as north")
    return parse_source_url(url, expected="the address of a notice board").geturl()


async def fetch(ctx):
    body = await fetch_body(ctx, f"{ctx.spec.url}/{ctx.spec.config.options['quay']}.json", accept=ACCEPT_JSON)
    if body.unchanged:
        return body.to_result()
    notices = msgspec.json.decode(body.response.body, type=list[dict[str, str]])
    entries = [
        Entry(
            ident=notice["id"],
            alias=notice["id"],
            title=notice["title"],
            text=notice["text"],
            author=notice["by"],
            url=notice["url"],
            language="en",
        )
        for notice in notices
    ]
    return body.to_result(entries, title="Harbour notices")
''',
    "lighthouse.py": '''
"""The platform Lighthouse: one request creates one signal, and the same key never creates another."""

import msgspec

from copydesk.model.platform import CredentialField
from copydesk.model.delivery import Account, DeliveryStep, Intent, PostMetrics, StepResult
from copydesk.model.draft import Format
from copydesk.model.platform import Limits, PlatformInfo
from copydesk.posting.client import error_for_read, error_for_write
from copydesk.posting.platform import ConnectResult, DeliveryGuarantees, Problem

INFO = PlatformInfo(
    name="lighthouse",
    label="Lighthouse",
    adapter="harbour.lighthouse:Lighthouse",
    limits=Limits(formats=frozenset({Format.SHORT}), max_length=2000),
    credential_fields=(CredentialField(name="lamp", question="Key of the lamp room", secret=True),),
)


class Lighthouse:
    info = INFO

    def __init__(self, client, credential_store, *, clock):
        self._client, self._credential_store, self._clock = client, credential_store, clock

    def guarantees(self, account):
        return DeliveryGuarantees(idempotent=True)

    def validate(self, post, account):
        return [Problem(message="It is too long.", part=0)] if INFO.is_too_long(post.parts[0]) else []

    def render(self, post, account, seed):
        return Intent(steps=(DeliveryStep(keys=(seed,), body={"signal": post.parts[0]}),), at=post.at)

    async def connect(self, server, credentials):
        response = await self._post(f"{server}/keeper", credentials["lamp"])
        if not response.is_success:
            raise error_for_read(response, server, self._clock())
        account = Account(platform=INFO.name, server=server, id="1", name="keeper")
        return ConnectResult(account=account, credentials={"lamp": credentials["lamp"]})

    async def check(self, account):
        return account

    async def send(self, account, intent, completed, images=()):
        lamp = (await self._credential_store.read(account))["lamp"]
        response = await self._post(f"{account.server}/signals", lamp, intent.steps[0].body)
        if not response.is_success:
            raise error_for_write(response, account.server, self._clock())
        return StepResult(ids=("1",), urls=(f"{account.server}/signals/1",))

    async def find_post(self, account, intent, completed, since):
        return None

    async def delete(self, account, result):
        pass

    async def metrics(self, account, ids):
        return {post_id: PostMetrics() for post_id in ids}

    async def _post(self, url, lamp, body=None):
        headers = {"authorization": f"Lamp {lamp}", "content-type": "application/json"}
        return await self._client.request("POST", url, headers=headers, content=msgspec.json.encode(body or {}))
''',
}
NOTICES = [
    {
        "id": "7",
        "title": "The north quay closes for repairs on Monday",
        "text": "The north quay closes on Monday at six. Ferries leave from the south quay for nine days.",
        "by": "Ada Pilot",
        "url": "https://notices.example/7",
    }
]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The folder in which the package `harbour` stands."""
    folder = tmp_path / "plugins"
    (folder / "harbour").mkdir(parents=True)
    for name, source in PACKAGE.items():
        (folder / "harbour" / name).write_text(source, encoding="utf-8")
    return folder


@pytest.fixture
def _registered(package: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Register the source type and the platform in this process, too."""
    monkeypatch.syspath_prepend(str(package))
    importlib.import_module("harbour")
    yield
    del SOURCE_TYPES["noticeboard"], PLATFORMS["lighthouse"]
    for name in [name for name in sys.modules if name.partition(".")[0] == "harbour"]:
        del sys.modules[name]


class Copydesk:
    """Copydesk's command line with the package."""

    def __init__(self, package: Path, home: Path) -> None:
        self._home = home
        self._environment = make_environment(
            home,
            pythonpath=f"{package}:{ROOT / 'src'}",
            python_keyring_backend="keyring.backends.null.Keyring",
        )

    def run(self, *args: str, stdin: str = "") -> CommandResult:
        """Call it in a process of its own."""
        command = (sys.executable, "-m", "harbour", *args)
        completed = subprocess.run(
            command, env=self._environment, input=stdin, capture_output=True, encoding="utf-8", timeout=120, check=False
        )
        return CommandResult(completed.returncode, completed.stdout, completed.stderr)

    def succeed(self, *args: str, stdin: str = "") -> str:
        """Return the output of a call that must not fail."""
        result = self.run(*args, stdin=stdin)
        assert result.code == 0, (args, result)
        return result.out

    def read(self, *args: str) -> str:
        """Return the output of a call in this process, which is much faster.

        Its commands know the source types and platforms that were registered when they were first imported.
        """
        result = run_in_process(self._home, *args, python_keyring_backend="keyring.backends.null.Keyring")
        assert result.code == 0, (args, result)
        return result.out


@pytest.mark.usefixtures("_registered")
def test_new_source_and_platform_from_fetch_to_post(package: Path, tmp_path: Path) -> None:
    desk = Copydesk(package, tmp_path / "home")
    with FeedServer() as server:
        server.serve("/north.json", json.dumps(NOTICES).encode())
        server.serve("/keeper", b"{}")
        server.serve("/signals", b"{}")
        board = server.url("")

        refused = desk.run("source", "add", "noticeboard", board)
        assert refused.code != 0
        assert "--config: options.quay is missing; name a quay" in refused.err
        misspelled = desk.run("source", "add", "noticeboard", board, "--config", '{"options": {"key": "north"}}')
        assert "--config: options.key is no option of noticeboard; it has quay" in misspelled.err
        config = '{"options": {"quay": "north"}}'
        source = json.loads(desk.succeed("source", "add", "noticeboard", board, "--config", config, "--json"))
        assert (source["type"], source["name"]) == ("noticeboard", "Harbour notices")
        assert source["config"] == {"options": {"quay": "north"}}

        run = json.loads(desk.succeed("--run-pipeline", "--json"))
        assert (run["status"], run["stats"]["draftsCreated"]) == ("succeeded", 1)
        (draft,) = json.loads(desk.read("draft", "list", "--json"))["drafts"]
        assert draft["item"]["sourceType"] == "noticeboard"
        assert "Ada Pilot" in draft["text"]

        desk.succeed("account", "connect", "lighthouse", "--url", board, "--plain", stdin="bright\n")
        desk.read("draft", "approve", draft["id"])
        desk.succeed("draft", "post", draft["id"])
        (signal,) = server.requests_for("/signals")
        assert (signal.headers["authorization"], json.loads(signal.body)) == ("Lamp bright", {"signal": draft["text"]})
        assert "lighthouse:keeper" in desk.read("delivery", "list", draft["id"])

    assert "noticeboard" in desk.succeed("source", "add", "--help")
    assert "lighthouse" in desk.succeed("account", "connect", "--help")
    doctor = desk.read("doctor").splitlines()
    assert any(re.match("ok +sources +1,", line) for line in doctor)
    assert any(re.match("ok +accounts +1,", line) for line in doctor)
    # Without the package the desk still opens, and the doctor says what is missing.
    missing = run_command(tmp_path / "home", "doctor").out.splitlines()
    assert any(re.match("warning +sources .* type noticeboard", line) for line in missing)


@pytest.mark.usefixtures("_registered")
async def test_form_shows_settings_of_new_source_type(tmp_path: Path) -> None:
    async with open_sources(tmp_path) as ui:
        await ui.press("A")
        form = ui.app.screen
        assert isinstance(form, SourceDialog)
        assert not form.query_one("#setting-quay-line").display
        form.query_one("#url", Input).value = "https://board.notices.example"
        await ui.wait()
        assert "Notice board" in ui.text
        assert form.query_one("#setting-quay-line").display
        assert not form.query_one("#setting-query-line").display
        form.query_one("#setting-quay", Input).value = "north"
        assert form._form.location.config == {"options": {"quay": "north"}}


@pytest.mark.usefixtures("_registered")
def test_documents_list_new_source_type_and_platform() -> None:
    spec = importlib.util.spec_from_file_location("docs", ROOT / ".ci" / "docs.py")
    assert spec is not None
    assert spec.loader is not None
    docs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(docs)
    assert "| `noticeboard` | Notice board | `options.quay`: the quay, such as north |" in docs.source_types()
    assert "| `lighthouse` | Lighthouse | SHORT | 2,000 | none | `lamp`: Key of the lamp room |" in docs.platforms()
