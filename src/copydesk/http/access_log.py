"""The access log: one JSON object per request, without queries, bodies and tokens, which may hold what users write."""

import logging
import sys
from datetime import UTC, datetime

import msgspec

from copydesk.model.serialization import format_iso

ACCESS_LOG = logging.getLogger("copydesk.http.access")
"""Each record has the attribute `request`, a mapping with the facts about it."""


class JsonFormatter(logging.Formatter):
    """Formats records of the access log as JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line."""
        time = format_iso(datetime.fromtimestamp(record.created, UTC))
        return msgspec.json.encode({"time": time, **vars(record)["request"]}).decode()


def print_access_log() -> None:
    """Print the access log on standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    ACCESS_LOG.addHandler(handler)
    ACCESS_LOG.setLevel(logging.INFO)
    ACCESS_LOG.propagate = False
