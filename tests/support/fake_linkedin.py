"""A fake LinkedIn, as its Posts API is documented (Microsoft Learn, li-lms-2026-01).

It rejects a repeated text and names the first post with it, cuts a text at the first unescaped reserved character, and
offers no way to read a member's posts.
"""

import json
import re
from urllib.parse import parse_qs, unquote

import httpx

from faulty_server import FakeClock, FaultyServer

_RESERVED = re.compile(r"[|{}@\[\]()<>#*_~]")
_HASHTAG = re.compile(r"\{hashtag\|\\#\|([^|{}@\[\]()<>#*_~\\]+)\}")
FIELDS = {
    "author",
    "commentary",
    "visibility",
    "distribution",
    "lifecycleState",
    "isReshareDisabledByAuthor",
    "content",
}


def parse_little_text(text: str) -> str:
    """Return the text that readers see."""
    result, position = "", 0
    while position < len(text):
        if match := _HASHTAG.match(text, position):
            result, position = f"{result}#{match[1]}", match.end()
        elif text[position] == "\\":
            result, position = result + text[position + 1 : position + 2], position + 2
        elif _RESERVED.match(text, position):
            return result
        else:
            result, position = result + text[position], position + 1
    return result


class FakeLinkedIn(FaultyServer):
    """One member with the id `abc-1`, and their posts."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.posts: list[dict] = []
        self.first_urns: dict[str, str] = {}
        """Text -> URN of the first post with it. Deleted posts stay."""
        self.images: dict[str, bytes] = {}
        self.upload_url = "https://www.linkedin.com/dms-uploads/1"
        self.token = "token"

    def respond(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if path == "/oauth/v2/accessToken":
            form = parse_qs(request.content.decode())
            valid = form["grant_type"] == ["authorization_code"] and form["client_secret"] == ["hush"]
            granted = {"access_token": self.token, "expires_in": 5_184_000, "scope": "w_member_social"}
            return httpx.Response(200, json=granted) if valid else error_response(401, "invalid_client", "No.")
        if request.headers.get("authorization") != f"Bearer {self.token}":
            return error_response(401, "INVALID_ACCESS_TOKEN", "Invalid access token")
        if path == "/v2/userinfo":
            return httpx.Response(200, json={"sub": "abc-1", "name": "Jo Doe"})
        return self.upload_image(request) if "dms-uploads" in path else self.handle_rest(request, path)

    def handle_rest(self, request: httpx.Request, path: str) -> httpx.Response:
        assert re.fullmatch(r"20\d{4}", request.headers["linkedin-version"])
        assert request.headers["x-restli-protocol-version"] == "2.0.0"
        if path == "/rest/images":
            image = f"urn:li:image:{len(self.images)}"
            self.images[image] = b""
            return httpx.Response(200, json={"value": {"uploadUrl": self.upload_url, "image": image}})
        if request.method == "DELETE":
            urn = unquote(request.url.raw_path.decode().rsplit("/", 1)[1])
            self.posts = [post for post in self.posts if post["urn"] != urn]
            return httpx.Response(204)
        return self.create(json.loads(request.content)) if path == "/rest/posts" else httpx.Response(404)

    def upload_image(self, request: httpx.Request) -> httpx.Response:
        self.images[list(self.images)[-1]] = request.content
        return httpx.Response(201)

    def create(self, body: dict) -> httpx.Response:
        if set(body) - FIELDS or body["author"] != "urn:li:person:abc-1":
            return error_response(422, "INVALID", "A field is wrong.")
        existing = self.first_urns.get(body["commentary"])
        if existing:
            return error_response(422, "DUPLICATE_POST", f"Content is a duplicate of {existing}")
        milliseconds = int(self.clock.now.timestamp() * 1000)
        urn = f"urn:li:share:{(milliseconds << 22) + len(self.posts)}"
        self.first_urns[body["commentary"]] = urn
        self.posts.append({"urn": urn, "text": parse_little_text(body["commentary"]), "content": body.get("content")})
        return httpx.Response(201, headers={"x-restli-id": urn})


def error_response(status: int, code: str, message: str) -> httpx.Response:
    return httpx.Response(status, json={"message": message, "code": code, "status": status})
