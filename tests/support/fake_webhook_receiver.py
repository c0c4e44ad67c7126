"""A fake receiver of webhooks."""

import hmac
import json
from base64 import b64decode

import httpx

from fake_blog import FakeBlog, error_response


class FakeReceiver(FakeBlog):
    """A correct webhook receiver: accepts an id once, and only signed requests."""

    secret = "s" * 20

    def respond(self, request: httpx.Request) -> httpx.Response:
        signature_fields = dict(field.split("=", 1) for field in request.headers["copydesk-signature"].split(","))
        payload = f"{signature_fields['t']}.".encode() + request.content
        fresh = abs(int(signature_fields["t"]) - self.clock.now.timestamp()) <= 300
        if not fresh or signature_fields["v1"] != hmac.new(self.secret.encode(), payload, "sha256").hexdigest():
            return error_response(401, "The signature is wrong.")
        fields = json.loads(request.content)
        if fields["event"] == "delete":
            self.posts = [post for post in self.posts if post["id"] != fields["id"]]
        if fields["event"] != "post":
            return httpx.Response(204)
        if all(post["id"] != fields["id"] for post in self.posts):
            assert request.headers["idempotency-key"] == fields["id"]
            images = [b64decode(image["content"]) for image in fields.get("pictures", ())]
            self.posts.append({**fields, "status": "publish", "files": images})
        return httpx.Response(200, json={"id": fields["id"], "url": "https://me.example/1"})
