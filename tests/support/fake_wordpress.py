"""A fake WordPress."""

import json
from collections.abc import Mapping

import httpx

from fake_blog import FakeBlog, FakeClock, Json, error_response, form_fields, query_params


class FakeWordPress(FakeBlog):
    """WordPress 6: appends -2 to a slug taken by a post of any status; tags are unique by name."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.media: list[Json] = []
        self.tags: list[str] = []
        self.can_create_tags = self.can_publish = True

    def respond(self, request: httpx.Request) -> httpx.Response:
        if request.headers.get("authorization") != "Basic bWU6YWJjZCBlZmdo":
            return error_response(401, "The password is wrong.", code="incorrect_password")
        path = request.url.path.removeprefix("/wp-json/wp/v2")
        if path == "/users/me":
            return httpx.Response(200, json={"id": 3, "slug": "me"})
        if path == "/tags":
            return self._create_tag(json.loads(request.content)["name"])
        collection = self.media if path.startswith("/media") else self.posts
        if request.method == "GET":
            matches = [post for post in collection if _matches(post, query_params(request))]
            return httpx.Response(200, json=[{**post, "file": ""} for post in matches])
        if path in ("/media", "/posts"):
            fields = form_fields(request) if path == "/media" else json.loads(request.content)
            return self._create(collection, {"status": "draft", **fields})
        return self._update(request, path)

    def _create(self, collection: list[Json], fields: Json) -> httpx.Response:
        number = 10 + len(self.posts) + len(self.media)
        link, slug = f"https://blog.example/{number}", self.unique_slug(fields["slug"])
        collection.append({**fields, "id": number, "slug": slug, "link": link, "source_url": f"{link}.png"})
        return httpx.Response(201, json=collection[-1] | {"file": ""})

    def _update(self, request: httpx.Request, path: str) -> httpx.Response:
        matches = [post for post in self.posts if path == f"/posts/{post['id']}"]
        if not matches:
            return error_response(404, "Invalid post ID.", code="rest_post_invalid_id")
        if request.method == "DELETE":
            matches[0].update(status="trash", slug=f"{matches[0]['slug']}__trashed")
            return httpx.Response(200, json=matches[0])
        status = json.loads(request.content)["status"]
        matches[0]["status"] = status if self.can_publish else "pending"
        return httpx.Response(200, json=matches[0])

    def _create_tag(self, name: str) -> httpx.Response:
        if name in self.tags:
            return error_response(
                400, "Exists.", code="term_exists", data={"status": 400, "term_id": self.tags.index(name) + 1}
            )
        if not self.can_create_tags:
            return error_response(403, "You may not make tags.", code="rest_cannot_create")
        self.tags.append(name)
        return httpx.Response(201, json={"id": len(self.tags), "name": name})


def _matches(post: Json, query: Mapping[str, str]) -> bool:
    ids = query["include"].split(",") if "include" in query else [str(post["id"])]
    visible = post.get("status") != "trash"
    return visible and str(post["id"]) in ids and query.get("slug", post["slug"]) == post["slug"]
