"""A WordPress that is all here."""

import json
from collections.abc import Mapping

import httpx

from fake_blogs import Clock, FakeBlog, Json, asked, form, said


class FakeWordPress(FakeBlog):
    """WordPress 6: a slug that is taken gets -2, whatever the status; tags are told apart by their names."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.media: list[Json] = []
        self.tags: list[str] = []
        self.may_make_tags = self.may_publish = True

    def answer(self, request: httpx.Request) -> httpx.Response:
        if request.headers.get("authorization") != "Basic bWU6YWJjZCBlZmdo":
            return said(401, "The password is wrong.", code="incorrect_password")
        where = request.url.path.removeprefix("/wp-json/wp/v2")
        if where == "/users/me":
            return httpx.Response(200, json={"id": 3, "slug": "me"})
        if where == "/tags":
            return self._tag(json.loads(request.content)["name"])
        kept = self.media if where.startswith("/media") else self.posts
        if request.method == "GET":
            found = [post for post in kept if _matches(post, asked(request))]
            return httpx.Response(200, json=[{**post, "file": ""} for post in found])
        if where in ("/media", "/posts"):
            fields = form(request) if where == "/media" else json.loads(request.content)
            return self._keep(kept, {"status": "draft", **fields})
        return self._change(request, where)

    def _keep(self, kept: list[Json], fields: Json) -> httpx.Response:
        number = 10 + len(self.posts) + len(self.media)
        link, slug = f"https://blog.example/{number}", self.with_free_slug(fields["slug"])
        kept.append({**fields, "id": number, "slug": slug, "link": link, "source_url": f"{link}.png"})
        return httpx.Response(201, json=kept[-1] | {"file": ""})

    def _change(self, request: httpx.Request, where: str) -> httpx.Response:
        found = [post for post in self.posts if where == f"/posts/{post['id']}"]
        if not found:
            return said(404, "Invalid post ID.", code="rest_post_invalid_id")
        if request.method == "DELETE":
            found[0].update(status="trash", slug=f"{found[0]['slug']}__trashed")
            return httpx.Response(200, json=found[0])
        wanted = json.loads(request.content)["status"]
        found[0]["status"] = wanted if self.may_publish else "pending"
        return httpx.Response(200, json=found[0])

    def _tag(self, name: str) -> httpx.Response:
        if name in self.tags:
            return said(400, "Exists.", code="term_exists", data={"status": 400, "term_id": self.tags.index(name) + 1})
        if not self.may_make_tags:
            return said(403, "You may not make tags.", code="rest_cannot_create")
        self.tags.append(name)
        return httpx.Response(201, json={"id": len(self.tags), "name": name})


def _matches(post: Json, query: Mapping[str, str]) -> bool:
    wanted = query["include"].split(",") if "include" in query else [str(post["id"])]
    in_sight = post.get("status") != "trash"
    return in_sight and str(post["id"]) in wanted and query.get("slug", post["slug"]) == post["slug"]
