"""A fake Threads: containers with their states, publication by id, lists of own posts.

From developers.facebook.com (Threads) and Meta's own sample, fbsamples/threads_api.
"""

from datetime import timedelta
from urllib.parse import parse_qs

import httpx

from faulty_server import FakeClock, FaultyServer

PER_PAGE = 100


class FakeThreads(FaultyServer):
    """One account, `me.too` with the id 77. With `containers_ready`, a container is finished once created."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.page_size = PER_PAGE
        self.containers: dict[str, dict] = {}
        self.posts: list[dict] = []
        self.token = "token"
        self.containers_ready, self.lists_posts, self.has_insights = True, True, True

    def respond(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/v1.0/").strip("/")
        query = {name: values[0] for name, values in parse_qs(request.url.query.decode()).items()}
        form = {name: values[0] for name, values in parse_qs(request.content.decode()).items()}
        if path == "oauth/access_token":
            valid = form["code"] == "code" and form["client_secret"] == "hush"
            return (
                httpx.Response(200, json={"access_token": "short", "user_id": 77})
                if valid
                else error_response(400, 1, "No.")
            )
        if path == "access_token":
            assert (query["access_token"], query["client_secret"]) == ("short", "hush")
            return httpx.Response(200, json={"access_token": self.token, "expires_in": 5_184_000})
        assert "access_token" not in query
        if request.headers.get("authorization") != f"Bearer {self.token}":
            return error_response(401, 190, "Error validating access token")
        if path == "refresh_access_token":
            self.token += "+"
            return httpx.Response(200, json={"access_token": self.token, "expires_in": 5_184_000})
        return self.route(request.method, path, query, form)

    def route(self, method: str, path: str, query: dict, form: dict) -> httpx.Response:
        if method == "POST":
            return {"77/threads": self.create_container, "77/threads_publish": self.publish}[path](form)
        if method == "DELETE":
            self.posts, before = [post for post in self.posts if post["id"] != path], self.posts
            return httpx.Response(200, json={"success": True}) if before != self.posts else not_found()
        if path == "me":
            return httpx.Response(200, json={"id": "77", "username": "me.too"})
        if path in ("me/threads", "me/replies"):
            return self.list_posts(query, replies=path == "me/replies")
        return self.get_insights(path) if path.endswith("/insights") else self.get_object(path)

    def create_container(self, form: dict) -> httpx.Response:
        if form["media_type"] != "TEXT" or len(form["text"]) > 500:
            return error_response(400, 100, "The parameter text is too long.")
        container = str(1000 + len(self.containers))
        status = "FINISHED" if self.containers_ready else "IN_PROGRESS"
        parent = form.get("reply_to_id", "")
        self.containers[container] = {"text": form["text"], "parent": parent, "at": self.clock.now, "status": status}
        return httpx.Response(200, json={"id": container})

    def status(self, container: str) -> str:
        data = self.containers[container]
        expired = self.clock.now - data["at"] > timedelta(hours=24)
        return "EXPIRED" if expired and data["status"] == "FINISHED" else data["status"]

    def publish(self, form: dict) -> httpx.Response:
        data = self.containers[form["creation_id"]]
        if self.status(form["creation_id"]) in ("EXPIRED", "ERROR", "IN_PROGRESS"):
            return error_response(400, 9007, "The media is not ready to be published.")
        data["status"] = "PUBLISHED"  # publishing twice would create two posts: the documentation promises nothing else
        post = {"id": str(5000 + len(self.posts)), "text": data["text"], "parent": data["parent"], "at": self.clock.now}
        self.posts.append(post)
        return httpx.Response(200, json={"id": post["id"]})

    def list_posts(self, query: dict, *, replies: bool) -> httpx.Response:
        newest_first = [post for post in reversed(self.posts) if bool(post["parent"]) == replies and self.lists_posts]
        offset = int(query.get("after", "0"))
        fields = query["fields"].split(",")
        data = [self.to_json(post, fields) for post in newest_first[offset : offset + self.page_size]]
        has_more = offset + self.page_size < len(newest_first)
        next_offset = str(offset + self.page_size)
        paging = {
            "cursors": {"before": "0", "after": next_offset},
            **({"next": "https://graph/?secret"} if has_more else {}),
        }
        return httpx.Response(200, json={"data": data, "paging": paging})

    def to_json(self, post: dict, fields: list[str]) -> dict:
        values = {
            "id": post["id"],
            "text": post["text"].strip(),
            "timestamp": post["at"].strftime("%Y-%m-%dT%H:%M:%S+0000"),
            "permalink": f"https://www.threads.net/@me.too/post/{post['id']}",
        }
        if post["parent"]:
            values["replied_to"] = {"id": post["parent"]}
        return {name: value for name, value in values.items() if name in fields}

    def get_object(self, object_id: str) -> httpx.Response:
        if object_id in self.containers:
            return httpx.Response(200, json={"id": object_id, "status": self.status(object_id)})
        post = next((post for post in self.posts if post["id"] == object_id), None)
        return httpx.Response(200, json=self.to_json(post, ["id", "timestamp", "permalink"])) if post else not_found()

    def get_insights(self, path: str) -> httpx.Response:
        exists = any(post["id"] == path.removesuffix("/insights") for post in self.posts)
        if not exists or not self.has_insights:
            return not_found()
        counts = {"views": 90, "likes": 3, "replies": 0, "reposts": 2}
        data = [{"name": name, "period": "lifetime", "values": [{"value": value}]} for name, value in counts.items()]
        return httpx.Response(200, json={"data": data})


def error_response(status: int, code: int, message: str, **more: object) -> httpx.Response:
    return httpx.Response(status, json={"error": {"message": message, "type": "OAuthException", "code": code, **more}})


def not_found() -> httpx.Response:
    return error_response(
        400, 100, "Object does not exist, or cannot be loaded due to missing permissions", error_subcode=33
    )
