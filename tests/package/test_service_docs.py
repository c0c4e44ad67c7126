"""Tests that docs/service.md is true: its commands run against a server process, its files are valid."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from cli_runner import COMMAND, make_environment

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "service.md"
DEPLOY = ROOT / "docs" / "deploy"
ADDRESS = "http://127.0.0.1:8470"


def code_blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def test_types_of_the_service_are_listed() -> None:
    source = (ROOT / "src" / "copydesk" / "http" / "errors.py").read_text(encoding="utf-8")
    types = set(re.findall(r'"/problems/([a-z-]+)"', source))
    assert len(types) > 10
    assert types - set(re.findall("`([a-z-]+)`", PAGE.read_text(encoding="utf-8"))) == set()


@pytest.fixture
def sample_server(tmp_path: Path) -> Iterator[str]:
    """The service on a sample desk, in a process of its own; its base URL."""
    process = subprocess.Popen(
        [*COMMAND, "--sample", "serve", "--port", "0"],
        env=make_environment(tmp_path),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    with process:
        try:
            started = re.search(r"http://\S+", process.stderr.readline())
            assert started
            yield started[0]
        finally:
            process.terminate()
            assert process.wait(60) == 0


def test_commands_do_what_they_say(sample_server: str, tmp_path: Path) -> None:
    """All commands of the page in one shell, in which curl fails on an error. Comments are the expected output."""
    functions = f"""set -euo pipefail
        curl() {{ command curl --silent --show-error --fail-with-body "$@"; }}
        copydesk() {{ {sys.executable} -m copydesk "$@"; }}
        """
    blocks = code_blocks("sh")
    assert len(blocks) >= 8
    script = functions + "echo '-- end'\n".join(blocks) + "echo '-- end'\n"
    (tmp_path / "walk").mkdir()
    done = subprocess.run(
        ["bash", "-c", script.replace(ADDRESS, sample_server)],
        cwd=tmp_path / "walk",
        env=make_environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    outputs = done.stdout.split("-- end\n")
    for block, output in zip(blocks, outputs, strict=False):
        expected = [line.removeprefix("# ") for line in block.splitlines() if line.startswith("# ")]
        assert not expected or output.endswith("\n".join([*expected, ""])), (block, output)
    shown = outputs[len(blocks) - 1]
    assert all(text in shown for text in ("scout 1.2", "example-7b", "9f2c", "https://harbour.example/news"))


def test_commands_of_deployment_are_valid(tmp_path: Path) -> None:
    """The options of the unit and of the container exist."""
    unit = (DEPLOY / "copydesk.service").read_text(encoding="utf-8")
    container = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    started = re.search(r"^ExecStart=\S+ serve (.*)$", unit, re.MULTILINE)
    assert started
    command = json.loads(container[container.rindex("\nCMD ") + len("\nCMD ") :])
    assert command[0] == "serve"
    for arguments in (started[1].split(), command[1:]):
        done = subprocess.run(
            [*COMMAND, "serve", *arguments, "--help"], capture_output=True, text=True, check=False, timeout=60
        )
        assert (done.returncode, "--trusted-proxy" in done.stdout) == (0, True), done.stderr


def test_health_check_of_container(sample_server: str) -> None:
    container = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    found = re.search(r"^HEALTHCHECK .*\\\n\s+CMD (\[.*\])$", container, re.MULTILINE)
    assert found
    _, *arguments = json.loads(found[1])
    healthy = [argument.replace(ADDRESS, sample_server) for argument in arguments]
    unhealthy = [argument.replace(ADDRESS, "http://127.0.0.1:1") for argument in arguments]
    assert subprocess.run([sys.executable, *healthy], check=False).returncode == 0
    assert subprocess.run([sys.executable, *unhealthy], check=False, capture_output=True).returncode == 1


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
@pytest.mark.parametrize(
    "name", ["copydesk.service", "copydesk-worker@.service", "copydesk-backup.service", "copydesk-backup.timer"]
)
def test_unit_is_valid(tmp_path: Path, name: str) -> None:
    for unit in DEPLOY.glob("copydesk*"):
        # The program has to exist, and the service that a timer starts.
        text = unit.read_text(encoding="utf-8").replace("/opt/copydesk/bin/copydesk", "/bin/true")
        (tmp_path / unit.name).write_text(text, encoding="utf-8")
    done = subprocess.run(["systemd-analyze", "verify", tmp_path / name], capture_output=True, text=True, check=False)
    assert (done.returncode, [line for line in done.stderr.splitlines() if name in line]) == (0, [])


def test_composition_starts_commands_that_exist() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"]
    commands = [service["command"] for service in services.values() if "command" in service]
    unit = (DEPLOY / "copydesk-worker@.service").read_text(encoding="utf-8")
    started = re.search(r"^ExecStart=\S+ (.*)$", unit, re.MULTILINE)
    assert started
    for arguments in [*commands, started[1].split()]:
        done = subprocess.run([*COMMAND, *arguments, "--help"], capture_output=True, text=True, check=False, timeout=60)
        assert (done.returncode, f"Usage: copydesk {arguments[0]}" in done.stdout) == (0, True), done.stderr


def test_backup_unit_overwrites_the_file_of_the_day(tmp_path: Path) -> None:
    unit = (DEPLOY / "copydesk-backup.service").read_text(encoding="utf-8")
    started = re.search(r"^ExecStart=/bin/sh -c '(.*)'$", unit, re.MULTILINE)
    assert started
    # As systemd replaces them.
    script = started[1].replace("$$", "$").replace("%%", "%")
    script = script.replace("/opt/copydesk/bin/copydesk", " ".join(COMMAND)).replace(
        "/var/backups/copydesk", str(tmp_path)
    )
    for _ in range(2):
        subprocess.run(["/bin/sh", "-c", script], env=make_environment(tmp_path / "home"), check=True, timeout=60)
    (file,) = tmp_path.glob("desk-*.db")
    assert file.stem.removeprefix("desk-") in "1234567"


async def test_agent_starts_with_the_configuration(tmp_path: Path) -> None:
    (block,) = code_blocks("json")
    server = json.loads(block)["mcpServers"]["copydesk"]
    assert server["command"] == "copydesk"
    command, *options = COMMAND
    parameters = StdioServerParameters(
        command=command, args=[*options, *server["args"]], env=make_environment(tmp_path)
    )
    async with Client(stdio_client(parameters)) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
    assert "create_drafts" in names
    assert "change_drafts" not in names
