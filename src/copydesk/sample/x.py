"""Simulated X API v2: the user lookup, and that user's timeline."""

from datetime import UTC, datetime
from typing import Any

Post = dict[str, Any]

_EARLIEST = datetime.min.replace(tzinfo=UTC).isoformat()
_MAX_ID = str(2**63)
_REFERENCE_TYPES = {"replies": "replied_to", "retweets": "retweeted"}


def lookup(account: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the response to a user lookup. An unknown name gives an error object with status 200, as X does."""
    if name.lower() == account["user"]["username"].lower():
        return {"data": account["user"]}
    detail = f"Could not find user with username: [{name}]."
    return {"errors": [{"value": name, "detail": detail, "title": "Not Found Error", "parameter": "username"}]}


def timeline(account: dict[str, Any], query: dict[str, str]) -> dict[str, Any]:
    """Return a page of the account's posts, newest first, filtered by ids, `start_time` and `exclude`."""
    posts = [post for post in account["posts"] if _matches(post, query)]
    start = int(query.get("pagination_token", "0"))
    end = start + int(query.get("max_results", "10"))
    page = posts[start:end]
    # X omits `data` and `includes` from an empty page.
    if not page:
        return {"meta": {"result_count": 0}}
    meta = {"result_count": len(page), "newest_id": page[0]["id"], "oldest_id": page[-1]["id"]}
    if end < len(posts):
        meta["next_token"] = str(end)
    return {"data": page, "includes": {"users": [account["user"]]}, "meta": meta}


def _matches(post: Post, query: dict[str, str]) -> bool:
    excluded = {_REFERENCE_TYPES.get(name) for name in query.get("exclude", "").split(",")}
    kinds = {reference["type"] for reference in post.get("referenced_tweets", ())}
    return (
        int(query.get("since_id", "0")) < int(post["id"]) < int(query.get("until_id", _MAX_ID))
        and _parse_time(post["created_at"]) >= _parse_time(query.get("start_time", _EARLIEST))
        and not kinds & excluded
    )


def _parse_time(text: str) -> datetime:
    return datetime.fromisoformat(text)
