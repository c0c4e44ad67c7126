"""JSON-LD in a page's head -> what it says of the article, by schema.org's names. Pure; nothing raises."""

from collections.abc import Iterator
from itertools import islice

import msgspec

from copydesk.ingest.elements import MAX_SCRIPT

MAX_NODES = 200
MAX_PEOPLE = 5

_FIELDS = ("headline", "description", "datePublished", "author", "publisher", "inLanguage")
_TYPES = ("Article", "Posting", "Report", "Review")
"""How the types end that an article has: NewsArticle, BlogPosting..."""


def linked_data(script: str) -> dict[str, str]:
    """The fields of the first article in `script`; none where it is not JSON or has no article."""
    if len(script) > MAX_SCRIPT:
        return {}
    try:
        data = msgspec.json.decode(script)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return {}
    for node in islice(_nodes(data), MAX_NODES):
        if _is_article(node.get("@type")):
            texts = {field: _text(node.get(field)) for field in _FIELDS} | {"image": _address(node.get("image"))}
            return {field: text for field, text in texts.items() if text}
    return {}


def _nodes(data: object) -> Iterator[dict[str, object]]:
    """The things that it speaks of, as far as they stand at the top or in a graph there."""
    for node in data if isinstance(data, list) else [data]:
        if isinstance(node, dict):
            yield node
            graph = node.get("@graph")
            if isinstance(graph, list):
                yield from (inner for inner in graph if isinstance(inner, dict))


def _is_article(type: object) -> bool:
    names = type if isinstance(type, list) else [type]
    return any(isinstance(name, str) and name.endswith(_TYPES) for name in names[:MAX_PEOPLE])


def _text(value: object) -> str:
    """A text, the name of a thing, or the names of several."""
    if isinstance(value, list):
        return ", ".join(filter(None, (_text(one) for one in value[:MAX_PEOPLE] if not isinstance(one, list))))
    if isinstance(value, dict):
        value = value.get("name")
    return value.strip() if isinstance(value, str) else ""


def _address(value: object) -> str:
    """The address of a picture, or of the first of several."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, dict):
        value = value.get("url")
    return value.strip() if isinstance(value, str) else ""
