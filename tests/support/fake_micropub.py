"""A fake site with Micropub."""

import json
from collections.abc import Mapping

import httpx

from fake_blog import FakeBlog, FakeClock, Json, form_fields, query_params


class FakeMicropub(FakeBlog):
    """A Micropub site. Posts are public at once; the requested slug is used if `honors_slugs`."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.honors_slugs = self.has_list = self.has_later_pages = self.has_media = True
        self.files: list[Json] = []

    def respond(self, request: httpx.Request) -> httpx.Response:
        if request.headers.get("authorization") != "Bearer t0ken":
            return httpx.Response(401, json={"error": "unauthorized", "error_description": "The token is not known."})
        if request.url.path == "/media":
            self.files.append(form_fields(request))
            return httpx.Response(201, headers={"location": f"/files/{len(self.files)}.png"})
        if request.method == "GET":
            return self._query(query_params(request))
        fields = json.loads(request.content)
        if fields.get("action") == "delete":
            self.posts = [post for post in self.posts if post["url"] != fields["url"]]
            return httpx.Response(204)
        self.add_post(fields["properties"])
        return httpx.Response(201, headers={"location": self.posts[-1]["url"]})

    def add_post(self, properties: Json) -> None:
        slug = self.unique_slug(properties["mp-slug"][0]) if self.honors_slugs else str(len(self.posts) + 1)
        stored = {**properties, "published": [self.clock.now.isoformat()]}
        del stored["mp-slug"]
        self.posts.append(
            {"status": "publish", "slug": slug, "url": f"https://me.example/{slug}", "properties": stored}
        )

    def _query(self, query: Mapping[str, str]) -> httpx.Response:
        if query["q"] == "config":
            return httpx.Response(200, json={"media-endpoint": "/media"} if self.has_media else {})
        if not self.has_list or ("after" in query and not self.has_later_pages):
            return httpx.Response(400, json={"error": "invalid_request", "error_description": "No url was given."})
        start = int(query.get("after", "0"))
        newest = [
            {"type": ["h-entry"], "properties": {**post["properties"], "url": [post["url"]]}}
            for post in self.posts[::-1][start : start + int(query["limit"])]
        ]
        return httpx.Response(200, json={"items": newest, "paging": {"after": str(start + len(newest))}})
