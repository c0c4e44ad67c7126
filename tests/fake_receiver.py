"""A receiver of webhooks that is all here."""

import hmac
import json
from base64 import b64decode

import httpx

from fake_blogs import FakeBlog, said


class FakeReceiver(FakeBlog):
    """A receiver of webhooks that follows the rules: it takes an id once, and only what is signed."""

    secret = "s" * 20

    def answer(self, request: httpx.Request) -> httpx.Response:
        signs = dict(piece.split("=", 1) for piece in request.headers["copydesk-signature"].split(","))
        signed = f"{signs['t']}.".encode() + request.content
        fresh = abs(int(signs["t"]) - self.clock.now.timestamp()) <= 300
        if not fresh or signs["v1"] != hmac.new(self.secret.encode(), signed, "sha256").hexdigest():
            return said(401, "The signature is wrong.")
        fields = json.loads(request.content)
        if fields["event"] == "delete":
            self.posts = [post for post in self.posts if post["id"] != fields["id"]]
        if fields["event"] != "post":
            return httpx.Response(204)
        if all(post["id"] != fields["id"] for post in self.posts):
            assert request.headers["idempotency-key"] == fields["id"]
            pictures = [b64decode(one["content"]) for one in fields.get("pictures", ())]
            self.posts.append({**fields, "status": "publish", "files": pictures})
        return httpx.Response(200, json={"id": fields["id"], "url": "https://me.example/1"})
