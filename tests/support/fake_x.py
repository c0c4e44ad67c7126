"""A fake X with the rules of API v2: rewritten texts, duplicate posts rejected, refresh tokens valid once.

Requests are checked against the schemas of X's OpenAPI document (xdevplatform/docs, openapi.json, read 2026-11):
CreatePostsRequest, CreatePostsReply, CreatePostsMedia, MediaUploadRequest, limited to the fields that the adapter uses.
The schema of POST /2/media/metadata is taken from X's media guide.
"""

import html
import json
import re
from base64 import b64encode
from datetime import datetime, timedelta
from urllib.parse import parse_qs, urlencode

import httpx

from copydesk.posting.oauth import code_challenge
from copydesk.text.links import all_spans
from faulty_server import FakeClock, FaultyServer

ID = re.compile(r"[0-9]{1,19}")
_EPOCH = 1_288_834_974_657


def is_id(value: object) -> bool:
    return isinstance(value, str) and ID.fullmatch(value) is not None


def id_list(min_length: int, max_length: int):
    def check(value: object) -> bool:
        return isinstance(value, list) and min_length <= len(value) <= max_length and all(map(is_id, value))

    return check


def text(value: object) -> bool:
    return isinstance(value, str)


def shape(required: tuple[str, ...] = (), **fields):
    """Return a check for an object with these fields and no others (additionalProperties: false)."""

    def check(value: object) -> bool:
        if not isinstance(value, dict) or not set(required) <= set(value) <= set(fields):
            return False
        return all(fields[name](field_value) for name, field_value in value.items())

    return check


CREATE_POST = shape(
    text=text,
    reply=shape(("in_reply_to_tweet_id",), in_reply_to_tweet_id=is_id, exclude_reply_user_ids=id_list(0, 10)),
    media=shape(("media_ids",), media_ids=id_list(1, 4), tagged_user_ids=id_list(0, 10)),
)
MEDIA_UPLOAD = shape(
    ("media", "media_category"), media=text, media_category=lambda value: value == "tweet_image", additional_owners=text
)
MEDIA_METADATA = shape(("id", "metadata"), id=is_id, metadata=shape(alt_text=shape(("text",), text=text)))
SHAPES = {
    "/2/tweets": CREATE_POST,
    "/2/media/upload": MEDIA_UPLOAD,
    "/2/media/metadata": MEDIA_METADATA,
}


class FakeX(FaultyServer):
    """One account, `me` with the id 12, and its posts."""

    def __init__(self, clock: FakeClock, *, refuses_duplicates: bool = True, allows_replies: bool = True) -> None:
        super().__init__(clock)
        self.client_secret = ""
        """The secret of the app, if it is a confidential client."""
        self.codes: dict[str, dict[str, str]] = {}
        """The parameters of the authorization requests, by code; each is valid once."""
        self.refuses_duplicates = refuses_duplicates
        self.allows_replies = allows_replies
        self.page_size = 100
        self.posts: list[dict] = []
        self.alt_texts: dict[str, str] = {}
        self.uploads = 0
        self.access, self.refresh, self.token_family_valid = "access-0", "refresh-0", True
        self.has_clicks = True

    def respond(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/2/oauth2/token":
            return self.grant_token(request)
        if request.headers.get("authorization") != f"Bearer {self.access}":
            return error_response(401, "Unauthorized")
        return self.route(request, request.url.path)

    def route(self, request: httpx.Request, path: str) -> httpx.Response:
        if request.method == "POST":
            body = json.loads(request.content)
            if not SHAPES[path](body):
                return error_response(400, "One or more parameters to your request was invalid.")
            return {"/2/tweets": self.create, "/2/media/upload": self.upload}.get(path, self.set_alt_text)(body)
        if request.method == "DELETE":
            return self.delete(path.rsplit("/", 1)[1])
        if path == "/2/users/me":
            return httpx.Response(200, json={"data": {"id": "12", "username": "me", "name": "Me"}})
        query = {name: values[0] for name, values in parse_qs(request.url.query.decode()).items()}
        return self.get_metrics(query) if path == "/2/tweets" else self.timeline(query)

    def authorize(self, page: str) -> str:
        """Consent on the authorization page, as the user's browser does; return the URL it is redirected to."""
        url = httpx.URL(page)
        assert (url.host, url.path) == ("x.com", "/i/oauth2/authorize")
        code = f"code-{len(self.codes)}"
        self.codes[code] = dict(url.params)
        return f"{url.params['redirect_uri']}?{urlencode({'state': url.params['state'], 'code': code})}"

    def grant_token(self, request: httpx.Request) -> httpx.Response:
        form = {name: values[0] for name, values in parse_qs(request.content.decode()).items()}
        basic = "Basic " + b64encode(f"app:{self.client_secret}".encode()).decode()
        expected = ("app", basic) if self.client_secret else ("app", None)
        if (form.get("client_id"), request.headers.get("authorization")) != expected:
            return token_error(401, "unauthorized_client", "Missing valid authorization header")
        if form["grant_type"] == "authorization_code":
            asked = self.codes.pop(form["code"], {})
            proof = (form["redirect_uri"], code_challenge(form["code_verifier"]))
            if proof != (asked.get("redirect_uri"), asked.get("code_challenge")):
                return token_error(400, "invalid_request", "Value passed for the authorization code was invalid.")
        elif form["grant_type"] == "refresh_token" and (
            form["refresh_token"] != self.refresh or not self.token_family_valid
        ):
            self.token_family_valid = False  # a refresh token used twice may be stolen: X revokes all of its family
            self.access = ""
            return token_error(400, "invalid_request", "Token was invalid.")
        number = int(self.refresh.rsplit("-", 1)[1]) + 1
        self.access, self.refresh = f"access-{number}", f"refresh-{number}"
        granted = {"access_token": self.access, "refresh_token": self.refresh, "expires_in": 7200}
        return httpx.Response(200, json={**granted, "token_type": "bearer"})

    def new_id(self) -> str:
        milliseconds = int(self.clock.now.timestamp() * 1000) - _EPOCH
        return str((milliseconds << 22) + len(self.posts) + self.uploads)

    def create(self, body: dict) -> httpx.Response:
        parent = body.get("reply", {}).get("in_reply_to_tweet_id")
        if self.refuses_duplicates and any(post["source"] == body["text"] for post in self.posts):
            return error_response(403, "You are not allowed to create a Tweet with duplicate content.")
        if parent and not self.allows_replies:
            return error_response(403, "Reply to this conversation is not allowed because you have not been mentioned.")
        post = {"id": self.new_id(), "source": body["text"], "parent": parent, "at": self.clock.now}
        self.posts.append({**post, "media": body.get("media", {}).get("media_ids", [])})
        return httpx.Response(201, json={"data": {"id": post["id"], "text": body["text"]}})

    def upload(self, body: dict) -> httpx.Response:
        self.uploads += 1
        return httpx.Response(200, json={"data": {"id": self.new_id(), "media_key": "3_1"}})

    def set_alt_text(self, body: dict) -> httpx.Response:
        self.alt_texts[body["id"]] = body["metadata"]["alt_text"]["text"]
        return httpx.Response(200, json={"data": {"id": body["id"]}})

    def delete(self, post_id: str) -> httpx.Response:
        existing = [post for post in self.posts if post["id"] == post_id]
        self.posts = [post for post in self.posts if post["id"] != post_id]
        return httpx.Response(200, json={"data": {"deleted": True}}) if existing else error_response(404, "Not found.")

    def timeline(self, query: dict) -> httpx.Response:
        start = datetime.fromisoformat(query["start_time"])
        newest_first = [post for post in reversed(self.posts) if post["at"] >= start]
        offset = int(query.get("pagination_token", "0"))
        page = [self.to_json(post) for post in newest_first[offset : offset + self.page_size]]
        meta: dict[str, object] = {"result_count": len(page)}
        if offset + self.page_size < len(newest_first):
            meta["next_token"] = str(offset + self.page_size)
        return httpx.Response(200, json={"meta": meta, **({"data": page} if page else {})})

    def to_json(self, post: dict) -> dict:
        """Return the post as X does: links shortened, a link to the images appended, HTML-escaped."""
        pieces, urls, position = [], [], 0
        source = post["source"].strip()
        for number, (start, end) in enumerate(all_spans(source)):
            long, short = source[start:end], f"https://t.co/{post['id'][-6:]}{number:04}"
            urls.append({"url": short, "expanded_url": long if "/" in long else f"http://{long}/"})
            pieces += [html.escape(source[position:start], quote=False), short]
            position = end
        pieces.append(html.escape(source[position:], quote=False))
        if post["media"]:
            urls.append(
                {"url": "https://t.co/picture", "expanded_url": f"https://x.com/me/status/{post['id']}/photo/1"}
            )
            pieces.append(" https://t.co/picture")
        result = {
            "id": post["id"],
            "text": "".join(pieces),
            "created_at": post["at"].strftime("%Y-%m-%dT%H:%M:%S.000Z"),
        }
        if urls:
            result["entities"] = {"urls": urls}
        if post["parent"]:
            result["referenced_tweets"] = [{"type": "replied_to", "id": post["parent"]}]
        return result

    def get_metrics(self, query: dict) -> httpx.Response:
        ids, with_private = query["ids"].split(","), "non_public_metrics" in query["tweet.fields"]
        data, errors = [], []
        for post_id in ids:
            post = next((post for post in self.posts if post["id"] == post_id), None)
            if post is None:
                problem_type = "https://api.twitter.com/2/problems/resource-not-found"
                errors.append(
                    {"title": "Not Found Error", "type": problem_type, "resource_id": post_id, "value": post_id}
                )
            elif with_private and (not self.has_clicks or self.clock.now - post["at"] > timedelta(days=30)):
                problem_type = "https://api.twitter.com/2/problems/not-authorized-for-field"
                errors.append({"title": "Field Authorization Error", "type": problem_type, "resource_id": post_id})
            else:
                counts = {"like_count": 3, "reply_count": 1, "retweet_count": 2, "impression_count": 90}
                counts |= {"quote_count": 5, "bookmark_count": 6}
                private = {"non_public_metrics": {"url_link_clicks": 4, "impression_count": 90}} if with_private else {}
                data.append({"id": post_id, "text": "", "public_metrics": counts, **private})
        return httpx.Response(200, json={**({"data": data} if data else {}), **({"errors": errors} if errors else {})})


def error_response(status: int, detail: str) -> httpx.Response:
    return httpx.Response(status, json={"title": "Problem", "detail": detail, "type": "about:blank", "status": status})


def token_error(status: int, error: str, description: str) -> httpx.Response:
    return httpx.Response(status, json={"error": error, "error_description": description})
