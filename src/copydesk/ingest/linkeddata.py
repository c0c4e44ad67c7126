"""JSON-LD of articles by schema.org's vocabulary. Pure; never raises."""

from collections.abc import Iterator
from itertools import islice

import msgspec

from copydesk.ingest.elements import MAX_SCRIPT_LENGTH

MAX_NODES = 200
"""Nodes of a script that are examined."""
MAX_LIST_ITEMS = 5
"""Items of a list that are read."""

_FIELDS = ("headline", "description", "datePublished", "author", "publisher", "inLanguage")
_TYPE_SUFFIXES = ("Article", "Posting", "Report", "Review")
"""Suffixes of article types: NewsArticle, BlogPosting..."""


def parse_json_ld(script: str) -> dict[str, str]:
    """Return the fields of the first article in `script`; empty if it is not JSON or has no article."""
    # The reader of the head truncates longer scripts, and truncated JSON is invalid.
    if len(script) > MAX_SCRIPT_LENGTH:
        return {}
    try:
        data = msgspec.json.decode(script)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return {}
    for node in islice(_nodes(data), MAX_NODES):
        if _is_article(node.get("@type")):
            texts = {field: _text(node.get(field)) for field in _FIELDS} | {"image": _image_url(node.get("image"))}
            return {field: text for field, text in texts.items() if text}
    return {}


def _nodes(data: object) -> Iterator[dict[str, object]]:
    """Yield the nodes at the top level and in a graph there."""
    for node in data if isinstance(data, list) else [data]:
        if isinstance(node, dict):
            yield node
            graph = node.get("@graph")
            if isinstance(graph, list):
                yield from (inner for inner in graph if isinstance(inner, dict))


def _is_article(type: object) -> bool:
    names = type if isinstance(type, list) else [type]
    return any(isinstance(name, str) and name.endswith(_TYPE_SUFFIXES) for name in names[:MAX_LIST_ITEMS])


def _text(value: object) -> str:
    """Return a string, the name of a thing, or the names of several separated by commas."""
    if isinstance(value, list):
        return ", ".join(filter(None, (_text(item) for item in value[:MAX_LIST_ITEMS] if not isinstance(item, list))))
    if isinstance(value, dict):
        value = value.get("name")
    return value.strip() if isinstance(value, str) else ""


def _image_url(value: object) -> str:
    """Return the URL of an image or of the first of several."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, dict):
        value = value.get("url")
    return value.strip() if isinstance(value, str) else ""
