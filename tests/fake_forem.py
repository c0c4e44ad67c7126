"""A dev.to that is all here."""

import json
from datetime import timedelta

import httpx

from fake_blogs import FakeBlog, Json, asked, said


class FakeForem(FakeBlog):
    """Forem: no second article with one title and one text; drafts are listed first, then the newest."""

    url = "https://dev.to/me/"

    def answer(self, request: httpx.Request) -> httpx.Response:
        if request.headers.get("api-key") != "k3y":
            return said(401, "unauthorized")
        where = request.url.path.removeprefix("/api")
        if where == "/users/me":
            return httpx.Response(200, json={"id": 7, "username": "me"})
        if where == "/articles/me/all":
            return self._page(int(asked(request)["page"]), int(asked(request)["per_page"]))
        fields = json.loads(request.content)["article"]
        if where == "/articles":
            return self._keep(fields)
        found = [post for post in self.posts if where == f"/articles/{post['id']}"]
        return self._change(found[0], fields) if found else said(404, "not found")

    def _page(self, page: int, size: int) -> httpx.Response:
        far = self.clock.now + timedelta(days=999)
        every = sorted(self.posts, key=lambda post: post["published_at"] or far, reverse=True)
        return httpx.Response(200, json=[self._shown(post) for post in every[(page - 1) * size : page * size]])

    def _shown(self, post: Json) -> Json:
        at = post["published_at"]
        return {**post, "published": post["status"] == "publish", "published_at": at.isoformat() if at else None}

    def _keep(self, fields: Json) -> httpx.Response:
        if not fields.get("ai_disclosure_level"):
            return said(422, "ai_disclosure_level is required when creating an article.")
        same = [post for post in self.posts if post["body_markdown"] == fields["body_markdown"]]
        if any(post["title"] == fields["title"].replace("☕", " ").strip() for post in same):
            return said(422, "Body markdown has already been taken")
        number, title = len(self.posts) + 1, fields["title"].replace("☕", " ").strip()
        more = {"id": number, "title": title, "status": "draft", "published_at": None, "url": f"{self.url}{number}"}
        self.posts.append({**fields, **more})
        return httpx.Response(201, json=self._shown(self.posts[-1]))

    def _change(self, post: Json, fields: Json) -> httpx.Response:
        post["status"] = "publish" if fields["published"] else "draft"
        post["published_at"] = (post["published_at"] or self.clock.now) if fields["published"] else None
        return httpx.Response(200, json=self._shown(post))
