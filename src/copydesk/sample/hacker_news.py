"""Simulated Hacker News APIs: Algolia's search, and Firebase's lists and items of the same stories.

Covers what a reader of stories requests. As of June 2026 Algolia filters numerically by `created_at_i` only.
"""

import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

Hit = dict[str, Any]

_CONDITION = re.compile(r"(\w{1,40})(<=|>=|<|>|=)(\d{1,15})")
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
}
_TAGS = {"ask": "ask_hn", "show": "show_hn", "job": "job"}


class UnknownAttributeError(ValueError):
    """`numericFilters` contains an attribute that Algolia cannot filter by."""


def search(hits: Sequence[Hit], query: dict[str, str], *, by_date: bool) -> dict[str, Any]:
    """Return Algolia's response to `query`. Raise UnknownAttributeError."""
    conditions = _parse_filters(query.get("numericFilters", ""))
    matches = [hit for hit in hits if _matches_tags(hit, query.get("tags", "")) and _matches_filters(hit, conditions)]
    matches = [hit for hit in matches if _matches_text(hit, query.get("query", ""))]
    matches.sort(key=lambda hit: hit["created_at_i"] if by_date else hit["points"], reverse=True)
    size = int(query.get("hitsPerPage", "20"))
    page = int(query.get("page", "0"))
    return {
        "hits": matches[page * size : (page + 1) * size],
        "nbHits": len(matches),
        "page": page,
        # Ceiling division.
        "nbPages": -(-len(matches) // max(size, 1)),
        "hitsPerPage": size,
        "exhaustiveNbHits": True,
        "query": query.get("query", ""),
        "processingTimeMS": 1,
    }


def list_ids(hits: Sequence[Hit], name: str) -> list[int]:
    """Return the ids in Firebase's list `name`: top, new, best, ask, show or job."""
    tag = "front_page" if name == "top" else _TAGS.get(name, "story")
    order = "points" if name in {"top", "best"} else "created_at_i"
    matches = [hit for hit in hits if tag in hit["_tags"]]
    return [int(hit["objectID"]) for hit in sorted(matches, key=lambda hit: hit[order], reverse=True)]


def get_item(hits: Sequence[Hit], item_id: str) -> dict[str, Any] | None:
    """Return the item in Firebase's format, or None (JSON `null`) for an unknown id."""
    for hit in hits:
        if hit["objectID"] == item_id:
            return _to_item(hit)
    return None


def _to_item(hit: Hit) -> dict[str, Any]:
    story = {
        "by": hit["author"],
        "descendants": hit["num_comments"],
        "id": int(hit["objectID"]),
        "score": hit["points"],
        "time": hit["created_at_i"],
        "title": hit["title"],
        "type": "story",
    }
    extras = {"url": hit["url"], "text": hit.get("story_text")}
    return story | {name: value for name, value in extras.items() if value}


def _parse_filters(filters: str) -> list[tuple[Callable[[int, int], bool], int]]:
    parsed = _CONDITION.findall(filters)
    for name, _, _ in parsed:
        if name != "created_at_i":
            raise UnknownAttributeError(name)
    return [(_COMPARE[sign], int(number)) for _, sign, number in parsed]


def _matches_filters(hit: Hit, conditions: Sequence[tuple[Callable[[int, int], bool], int]]) -> bool:
    return all(compare(hit["created_at_i"], number) for compare, number in conditions)


def _matches_tags(hit: Hit, tags: str) -> bool:
    """Return True if the hit matches Algolia's tags: commas mean AND, and inside parentheses OR."""
    groups = re.findall(r"\(([^()]*)\)|([^,()]+)", tags)
    return all(set((either or single).split(",")) & set(hit["_tags"]) for either, single in groups)


def _matches_text(hit: Hit, query: str) -> bool:
    text = f"{hit['title']} {hit.get('story_text') or ''}".lower()
    return all(word in text for word in query.lower().replace('"', " ").split())
