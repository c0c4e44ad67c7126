"""A fake dev.to."""

import json
from datetime import timedelta

import httpx

from fake_blog import FakeBlog, Json, error_response, query_params


class FakeForem(FakeBlog):
    """Forem: rejects a second article with the same title and text; lists drafts first, then the newest articles."""

    url = "https://dev.to/me/"

    def respond(self, request: httpx.Request) -> httpx.Response:
        if request.headers.get("api-key") != "k3y":
            return error_response(401, "unauthorized")
        path = request.url.path.removeprefix("/api")
        if path == "/users/me":
            return httpx.Response(200, json={"id": 7, "username": "me"})
        if path == "/articles/me/all":
            return self._list_page(int(query_params(request)["page"]), int(query_params(request)["per_page"]))
        fields = json.loads(request.content)["article"]
        if path == "/articles":
            return self._create(fields)
        matches = [post for post in self.posts if path == f"/articles/{post['id']}"]
        return self._update(matches[0], fields) if matches else error_response(404, "not found")

    def _list_page(self, page: int, size: int) -> httpx.Response:
        far_future = self.clock.now + timedelta(days=999)
        newest_first = sorted(self.posts, key=lambda post: post["published_at"] or far_future, reverse=True)
        return httpx.Response(200, json=[self._to_json(post) for post in newest_first[(page - 1) * size : page * size]])

    def _to_json(self, post: Json) -> Json:
        published_at = post["published_at"]
        return {
            **post,
            "published": post["status"] == "publish",
            "published_at": published_at.isoformat() if published_at else None,
        }

    def _create(self, fields: Json) -> httpx.Response:
        if not fields.get("ai_disclosure_level"):
            return error_response(422, "ai_disclosure_level is required when creating an article.")
        same_text = [post for post in self.posts if post["body_markdown"] == fields["body_markdown"]]
        if any(post["title"] == fields["title"].replace("☕", " ").strip() for post in same_text):
            return error_response(422, "Body markdown has already been taken")
        number, title = len(self.posts) + 1, fields["title"].replace("☕", " ").strip()
        generated = {
            "id": number,
            "title": title,
            "status": "draft",
            "published_at": None,
            "url": f"{self.url}{number}",
        }
        self.posts.append({**fields, **generated})
        return httpx.Response(201, json=self._to_json(self.posts[-1]))

    def _update(self, post: Json, fields: Json) -> httpx.Response:
        post["status"] = "publish" if fields["published"] else "draft"
        post["published_at"] = (post["published_at"] or self.clock.now) if fields["published"] else None
        return httpx.Response(200, json=self._to_json(post))
