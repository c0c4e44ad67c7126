"""A fake Ghost."""

import hmac
import json
from base64 import urlsafe_b64decode

import httpx

from fake_blog import FakeBlog, FakeClock, Json, form_fields, query_params


class FakeGhost(FakeBlog):
    """Ghost 6: appends -2 to a taken slug, ignores ids chosen by the client, rejects a stale change with 409."""

    name, secret = "6489a", "0123456789abcdef" * 4

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.images: list[Json] = []
        self.conflicts_left = 0

    def respond(self, request: httpx.Request) -> httpx.Response:
        if not self._is_authorized(request.headers.get("authorization", "")):
            return _error_response(401, "Invalid token")
        path = request.url.path.removeprefix("/ghost/api/admin")
        if path == "/images/upload/":
            self.images.append(form_fields(request))
            return httpx.Response(201, json={"images": [{"url": f"https://blog.example/{len(self.images)}.png"}]})
        if path == "/posts/":
            return self._list(request) if request.method == "GET" else self._create(request)
        matches = [post for post in self.posts if path in (f"/posts/{post['id']}/", f"/posts/slug/{post['slug']}/")]
        if not matches:
            return _error_response(404, "Resource not found error, cannot read post.")
        if request.method == "DELETE":
            self.posts.remove(matches[0])
            return httpx.Response(204)
        return self._update(request, matches[0]) if request.method == "PUT" else _posts_response(matches)

    def _is_authorized(self, header: str) -> bool:
        """Return whether the JWT is signed with the key, meant for this API and still valid.

        Checked against RFC 7519, not our code.
        """
        head, claims, signature = header.removeprefix("Ghost ").split(".")
        expected = hmac.digest(bytes.fromhex(self.secret), f"{head}.{claims}".encode(), "sha256")
        payload, now = json.loads(_decode(claims)), self.clock.now.timestamp()
        authentic = _decode(signature) == expected and json.loads(_decode(head))["kid"] == self.name
        return (
            authentic and payload["aud"] == "/admin/" and payload["iat"] <= now < payload["exp"] <= payload["iat"] + 300
        )

    def _list(self, request: httpx.Request) -> httpx.Response:
        id_filter = query_params(request).get("filter", "")
        return _posts_response([post for post in self.posts if not id_filter or f"'{post['id']}'" in id_filter])

    def _create(self, request: httpx.Request) -> httpx.Response:
        assert query_params(request) == {"source": "html"}
        (fields,) = json.loads(request.content)["posts"]
        slug, number = self.unique_slug(fields["slug"]), len(self.posts)
        generated = {"id": f"65f{number}", "slug": slug, "url": f"https://blog.example/p/{number}", "updated_at": "1"}
        self.posts.append({**fields, **generated})
        return _posts_response(self.posts[-1:], 201)

    def _update(self, request: httpx.Request, post: Json) -> httpx.Response:
        (fields,) = json.loads(request.content)["posts"]
        if self.conflicts_left:
            self.conflicts_left -= 1
            post["updated_at"] += "1"
        if fields["updated_at"] != post["updated_at"] and fields["status"] != _to_json(post)["status"]:
            return _error_response(409, "Saving failed! Someone else is editing this post.")
        post.update(status="publish", updated_at=post["updated_at"] + "1", url=f"https://blog.example/{post['slug']}/")
        return _posts_response([post])


def _decode(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _to_json(post: Json) -> Json:
    return {**post, "status": "published" if post["status"] == "publish" else post["status"]}


def _posts_response(posts: list[Json], status: int = 200) -> httpx.Response:
    return httpx.Response(status, json={"posts": [_to_json(post) for post in posts]})


def _error_response(status: int, message: str) -> httpx.Response:
    return httpx.Response(status, json={"errors": [{"message": message, "context": None, "type": "X"}]})
