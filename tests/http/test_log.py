"""The log of the server."""

import io
import json
import logging
import subprocess
import sys

import pytest

from copydesk.http import log


@pytest.fixture
def lines():
    """Collect the lines that are logged."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(log.JsonFormatter())
    logger = logging.getLogger("copydesk")
    logger.addHandler(handler)
    log.ACCESS_LOG.setLevel(logging.INFO)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    log.ACCESS_LOG.setLevel(logging.NOTSET)
    logger.removeHandler(handler)


async def test_unforeseen_error_is_logged_with_its_request(service, lines, monkeypatch):
    async def fail(*_):
        raise ZeroDivisionError("line\nbreak")

    monkeypatch.setattr(service.desks, "start_request", fail)
    response = await service.anonymous_client({"Authorization": "Bearer cd_x"}).get("/drafts")
    assert response.status_code == 500
    error, access = lines()
    assert error["message"] == f"request {access['requestId']} failed"
    assert "ZeroDivisionError" in error["traceback"]
    assert response.json()["detail"].endswith(f"{access['requestId']}.")


@pytest.mark.parametrize("name", ["asyncio", "mcp.server", "python_multipart.multipart"])
def test_warning_of_a_library_is_a_line_of_json(name):
    program = "import logging, sys; from copydesk.http import log; log.print_log(requests=False);"
    command = [sys.executable, "-c", f"{program} logging.getLogger({name!r}).warning('line\\nbreak')"]
    process = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert json.loads(process.stderr)["message"] == "line\nbreak"
