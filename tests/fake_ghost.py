"""A Ghost that is all here."""

import hmac
import json
from base64 import urlsafe_b64decode

import httpx

from fake_blogs import Clock, FakeBlog, Json, asked, form


class FakeGhost(FakeBlog):
    """Ghost 6: a slug that is taken gets -2, an id of ours is ignored, a stale change is a 409."""

    name, secret = "6489a", "0123456789abcdef" * 4

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.images: list[Json] = []
        self.changed_meanwhile = 0

    def answer(self, request: httpx.Request) -> httpx.Response:
        if not self._knows(request.headers.get("authorization", "")):
            return _fault(401, "Invalid token")
        where = request.url.path.removeprefix("/ghost/api/admin")
        if where == "/images/upload/":
            self.images.append(form(request))
            return httpx.Response(201, json={"images": [{"url": f"https://blog.example/{len(self.images)}.png"}]})
        if where == "/posts/":
            return self._all(request) if request.method == "GET" else self._keep(request)
        found = [post for post in self.posts if where in (f"/posts/{post['id']}/", f"/posts/slug/{post['slug']}/")]
        if not found:
            return _fault(404, "Resource not found error, cannot read post.")
        if request.method == "DELETE":
            self.posts.remove(found[0])
            return httpx.Response(204)
        return self._change(request, found[0]) if request.method == "PUT" else _posts(found)

    def _knows(self, header: str) -> bool:
        """Whether the token is signed with the key, for this, and for now: read anew from RFC 7519."""
        head, claims, mark = header.removeprefix("Ghost ").split(".")
        signed = hmac.digest(bytes.fromhex(self.secret), f"{head}.{claims}".encode(), "sha256")
        say, now = json.loads(_unpacked(claims)), self.clock.now.timestamp()
        good = _unpacked(mark) == signed and json.loads(_unpacked(head))["kid"] == self.name
        return good and say["aud"] == "/admin/" and say["iat"] <= now < say["exp"] <= say["iat"] + 300

    def _all(self, request: httpx.Request) -> httpx.Response:
        named = asked(request).get("filter", "")
        return _posts([post for post in self.posts if not named or f"'{post['id']}'" in named])

    def _keep(self, request: httpx.Request) -> httpx.Response:
        assert asked(request) == {"source": "html"}
        (fields,) = json.loads(request.content)["posts"]
        slug, number = self.with_free_slug(fields["slug"]), len(self.posts)
        more = {"id": f"65f{number}", "slug": slug, "url": f"https://blog.example/p/{number}", "updated_at": "1"}
        self.posts.append({**fields, **more})
        return _posts(self.posts[-1:], 201)

    def _change(self, request: httpx.Request, post: Json) -> httpx.Response:
        (fields,) = json.loads(request.content)["posts"]
        if self.changed_meanwhile:
            self.changed_meanwhile -= 1
            post["updated_at"] += "1"
        if fields["updated_at"] != post["updated_at"] and fields["status"] != _as_ghost(post)["status"]:
            return _fault(409, "Saving failed! Someone else is editing this post.")
        post.update(status="publish", updated_at=post["updated_at"] + "1", url=f"https://blog.example/{post['slug']}/")
        return _posts([post])


def _unpacked(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _as_ghost(post: Json) -> Json:
    return {**post, "status": "published" if post["status"] == "publish" else post["status"]}


def _posts(posts: list[Json], status: int = 200) -> httpx.Response:
    return httpx.Response(status, json={"posts": [_as_ghost(post) for post in posts]})


def _fault(status: int, message: str) -> httpx.Response:
    return httpx.Response(status, json={"errors": [{"message": message, "context": None, "type": "X"}]})
