"""Hacker News as the sample answers it: Algolia's search, and the Firebase lists and items of the same stories.

Only what a reader of stories asks for. As of June 2026 Algolia filters by `created_at_i` and by no other number.
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


class UnknownNumberError(ValueError):
    """`numericFilters` names a number that cannot be filtered by."""


def search(hits: Sequence[Hit], query: dict[str, str], *, by_date: bool) -> dict[str, Any]:
    """Algolia's answer to `query`; raises UnknownNumberError."""
    conditions = _conditions(query.get("numericFilters", ""))
    found = [hit for hit in hits if _tagged(hit, query.get("tags", "")) and _within(hit, conditions)]
    found = [hit for hit in found if _has_words(hit, query.get("query", ""))]
    found.sort(key=lambda hit: hit["created_at_i"] if by_date else hit["points"], reverse=True)
    size = int(query.get("hitsPerPage", "20"))
    page = int(query.get("page", "0"))
    return {
        "hits": found[page * size : (page + 1) * size],
        "nbHits": len(found),
        "page": page,
        "nbPages": -(-len(found) // max(size, 1)),
        "hitsPerPage": size,
        "exhaustiveNbHits": True,
        "query": query.get("query", ""),
        "processingTimeMS": 1,
    }


def listing(hits: Sequence[Hit], name: str) -> list[int]:
    """The ids in Firebase's list `name`: top, new, best, ask, show or job."""
    wanted = "front_page" if name == "top" else _TAGS.get(name, "story")
    order = "points" if name in {"top", "best"} else "created_at_i"
    found = [hit for hit in hits if wanted in hit["_tags"]]
    return [int(hit["objectID"]) for hit in sorted(found, key=lambda hit: hit[order], reverse=True)]


def item(hits: Sequence[Hit], number: str) -> dict[str, Any] | None:
    """Firebase's item, or None (its `null`) for an id that it does not have."""
    for hit in hits:
        if hit["objectID"] == number:
            return _as_item(hit)
    return None


def _as_item(hit: Hit) -> dict[str, Any]:
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


def _conditions(filters: str) -> list[tuple[Callable[[int, int], bool], int]]:
    found = _CONDITION.findall(filters)
    for name, _, _ in found:
        if name != "created_at_i":
            raise UnknownNumberError(name)
    return [(_COMPARE[sign], int(number)) for _, sign, number in found]


def _within(hit: Hit, conditions: Sequence[tuple[Callable[[int, int], bool], int]]) -> bool:
    return all(compare(hit["created_at_i"], number) for compare, number in conditions)


def _tagged(hit: Hit, tags: str) -> bool:
    """Algolia's tags: every one that is separated by a comma, any one within parentheses."""
    groups = re.findall(r"\(([^()]*)\)|([^,()]+)", tags)
    return all(set((either or single).split(",")) & set(hit["_tags"]) for either, single in groups)


def _has_words(hit: Hit, query: str) -> bool:
    text = f"{hit['title']} {hit.get('story_text') or ''}".lower()
    return all(word in text for word in query.lower().replace('"', " ").split())
