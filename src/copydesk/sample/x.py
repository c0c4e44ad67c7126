"""X's API v2 as the sample answers it: the user lookup and that user's timeline."""

from datetime import UTC, datetime
from typing import Any

Post = dict[str, Any]

_EVER = datetime.min.replace(tzinfo=UTC).isoformat()
_LATEST = str(2**63)
_KINDS = {"replies": "replied_to", "retweets": "retweeted"}


def lookup(account: dict[str, Any], name: str) -> dict[str, Any]:
    """The answer to a lookup by name; an unknown one is an error within a 200, as X does it."""
    if name.lower() == account["user"]["username"].lower():
        return {"data": account["user"]}
    detail = f"Could not find user with username: [{name}]."
    return {"errors": [{"value": name, "detail": detail, "title": "Not Found Error", "parameter": "username"}]}


def timeline(account: dict[str, Any], query: dict[str, str]) -> dict[str, Any]:
    """A page of the account's posts, newest first, narrowed by ids, `start_time` and `exclude`."""
    posts = [post for post in account["posts"] if _wanted(post, query)]
    start = int(query.get("pagination_token", "0"))
    end = start + int(query.get("max_results", "10"))
    page = posts[start:end]
    if not page:
        return {"meta": {"result_count": 0}}
    meta = {"result_count": len(page), "newest_id": page[0]["id"], "oldest_id": page[-1]["id"]}
    if end < len(posts):
        meta["next_token"] = str(end)
    return {"data": page, "includes": {"users": [account["user"]]}, "meta": meta}


def _wanted(post: Post, query: dict[str, str]) -> bool:
    excluded = {_KINDS.get(name) for name in query.get("exclude", "").split(",")}
    kinds = {reference["type"] for reference in post.get("referenced_tweets", ())}
    return (
        int(query.get("since_id", "0")) < int(post["id"]) < int(query.get("until_id", _LATEST))
        and _time(post["created_at"]) >= _time(query.get("start_time", _EVER))
        and not kinds & excluded
    )


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
