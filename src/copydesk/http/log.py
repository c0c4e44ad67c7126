"""The log of the server on standard error: one JSON object per line, for warnings, errors and, if asked, requests."""

import logging
import sys
from datetime import UTC, datetime

import msgspec

from copydesk.desk import redact
from copydesk.model.serialization import format_iso

ACCESS_LOG = logging.getLogger("copydesk.http.access")
"""Each record has the attribute `request`, a mapping with the facts about it.

Queries, bodies and tokens are not among them: they may hold what users write, or give access.
"""


class JsonFormatter(logging.Formatter):
    """Formats records as JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line."""
        line: dict[str, object] = {
            "time": format_iso(datetime.fromtimestamp(record.created, UTC)),
            "level": record.levelname.lower(),
        }
        if isinstance(request := vars(record).get("request"), dict):
            return msgspec.json.encode(line | request).decode()
        line["message"] = redact(record.getMessage())
        # The filter that removes secrets from records leaves the traceback as text.
        if traceback := record.exc_text or (self.formatException(record.exc_info) if record.exc_info else ""):
            line["traceback"] = redact(traceback)
        return msgspec.json.encode(line).decode()


def print_log(*, requests: bool) -> None:
    """Print warnings and errors, those of the server's libraries included, and, if `requests`, each request."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    # Without a handler, Python prints what these libraries log as bare text between the lines of JSON.
    for name in ("copydesk", "uvicorn", "asyncio", "mcp", "python_multipart"):
        logging.getLogger(name).addHandler(handler)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    ACCESS_LOG.setLevel(logging.INFO if requests else logging.WARNING)
