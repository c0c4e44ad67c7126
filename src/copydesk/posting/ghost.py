"""Ghost by its Admin API (ghost.org/docs/admin-api), with the key of a custom integration.

A second draft of one slug gets `-2` at its end, and an id that we choose is ignored, so the slug is looked for first.
Publishing names the `updated_at` of the post as it is there; when somebody else changed it in between, that is a 409.
"""

import hmac
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, ClassVar
from urllib.parse import urlsplit

import msgspec

from copydesk.model.draft import Format
from copydesk.posting import blog
from copydesk.posting.drafted import DraftedBlog
from copydesk.posting.multipart import file_name, form_with_file
from copydesk.posting.platform import (
    Account,
    Connected,
    Evidence,
    Figures,
    Limits,
    LoginError,
    Made,
    Picture,
    Post,
    RefusedPostError,
    Step,
    UnknownOutcomeError,
    Wanted,
)
from copydesk.posting.site import Site, own_server, shown

API = "/ghost/api/admin"
VERSION = "v5.0"
TOKEN_SECONDS = 240
"""Ghost takes tokens for at most five minutes from their making, by its own clock."""
MOST_AT_ONCE = 100
_SEEN = frozenset({"published", "sent"})

_Id = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9-]{1,64}\Z")]


class _Post(msgspec.Struct, frozen=True):
    id: _Id
    status: str
    updated_at: str = ""
    url: str = ""


class _Posts(msgspec.Struct, frozen=True):
    posts: Annotated[list[_Post], msgspec.Meta(min_length=1)]


class _Some(msgspec.Struct, frozen=True):
    posts: list[_Post]


class _Image(msgspec.Struct, frozen=True):
    url: Annotated[str, msgspec.Meta(pattern=r"\Ahttps?://", max_length=2000)]


class _Images(msgspec.Struct, frozen=True):
    images: Annotated[list[_Image], msgspec.Meta(min_length=1)]


class Ghost(DraftedBlog):
    """A Platform over one's own Ghost."""

    name: ClassVar[str] = "ghost"
    limits: ClassVar[Limits] = Limits(
        formats=frozenset({Format.BLOG}),
        pictures=4,
        picture_bytes=2_000_000,
        picture_types=("image/jpeg", "image/png", "image/gif", "image/webp"),
        alt_characters=125,
    )
    home: ClassVar[str] = ""
    wants: ClassVar[tuple[Wanted, ...]] = (
        Wanted(name="key", question="The Admin API key of a custom integration (Settings > Integrations)", secret=True),
    )
    longest_title: ClassVar[int | None] = 255

    def draft(self, post: Post, written: blog.Article) -> dict[str, object]:
        """What the draft is made of."""
        tags = [{"name": tag} for tag in dict.fromkeys(post.tags)]
        return {"slug": written.slug, "title": written.title, "html": blog.html(written.text), "tags": tags}

    def site(self, server: str, secrets: Mapping[str, str]) -> Site:
        """The Admin API of the blog, with a token for the next few minutes."""
        now = self._clock()
        headers = {"authorization": f"Ghost {token(secrets['key'], now)}", "accept-version": VERSION}
        return Site(self._caller, server + API, headers, now)

    async def connect(self, server: str, given: Mapping[str, str]) -> Connected:
        """The integration that the key belongs to, on the blog at `server`."""
        address = own_server(server).removesuffix("/ghost")
        secrets = {"key": given["key"].strip()}
        return Connected(account=await self._account(address, self.site(address, secrets)), secrets=secrets)

    async def check(self, account: Account) -> Account:
        """The blog as it is now."""
        return await self._account(account.server, await self._open(account))

    async def _account(self, server: str, site: Site) -> Account:
        # What the site says of itself is for everybody; whether the key is good shows only where posts are asked for.
        await site.look("/posts/", _Some, params={"limit": "1", "fields": "id,status"})
        parts = urlsplit(server)
        return Account(platform=self.name, server=server, id=server, name=parts.netloc + parts.path)

    async def find(self, site: Site, draft: Step, since: datetime) -> Made | None:
        """The post that has the slug, draft or not."""
        found = await site.seek(f"/posts/slug/{draft.keys[0]}/", _Posts)
        return Made(ids=(found.posts[0].id,), urls=(), evidence=Evidence.READ_BACK) if found else None

    async def write(self, site: Site, draft: Step, pictures: Sequence[Picture], secrets: Mapping[str, str]) -> Made:
        """Pictures first: a post whose pictures cannot be there is not made."""
        body: dict[str, object] = {**draft.body, "status": "draft"}
        stored = [await self._store(site, picture, draft.keys[0]) for picture in pictures]
        if stored:
            body["feature_image"], body["feature_image_alt"] = stored[0], pictures[0].alt
            below = [blog.figure(url, picture.alt) for url, picture in zip(stored[1:], pictures[1:], strict=True)]
            body["html"] = "\n".join([str(body["html"]), *below])
        made = await site.make("POST", "/posts/", _Posts, json={"posts": [body]}, params={"source": "html"})
        return Made(ids=(made.posts[0].id,), urls=())

    async def publish(self, site: Site, post_id: str) -> Made:
        """Set its status, where nobody has done so yet."""
        found = await site.seek(f"/posts/{post_id}/", _Posts)
        if found is None:
            raise RefusedPostError(f"The draft is not on {site.host} any more.", hint="Post it once more as a new one.")
        post = found.posts[0]
        if post.status in _SEEN:
            return Made(ids=(post_id,), urls=shown(post.url), evidence=Evidence.READ_BACK)
        body = {"posts": [{"status": "published", "updated_at": post.updated_at}]}
        after = (await site.make("PUT", f"/posts/{post_id}/", _Posts, json=body)).posts[0]
        if after.status not in _SEEN:
            raise UnknownOutcomeError(f"{site.host} does not say that it published the post.")
        return Made(ids=(post_id,), urls=shown(after.url))

    async def published(self, site: Site, post_id: str, since: datetime) -> Made | None:
        """The post, where its status says that it is seen."""
        found = await site.seek(f"/posts/{post_id}/", _Posts)
        if found is None or found.posts[0].status not in _SEEN:
            return None
        return Made(ids=(post_id,), urls=shown(found.posts[0].url), evidence=Evidence.READ_BACK)

    async def delete(self, account: Account, made: Made) -> None:
        """Delete the post; Ghost keeps no copy."""
        site = await self._open(account)
        for post_id in made.ids:
            answer = await site.ask("DELETE", f"/posts/{post_id}/")
            if not answer.good and answer.status != 404:
                raise site.wrong(answer)

    async def figures(self, account: Account, ids: Sequence[str]) -> Mapping[str, Figures | None]:
        """Ghost reports none of these; only what is gone is known."""
        site = await self._open(account)
        there: set[str] = set()
        for start in range(0, len(ids), MOST_AT_ONCE):
            named = ",".join(f"'{each}'" for each in ids[start : start + MOST_AT_ONCE])
            params = {"filter": f"id:[{named}]", "fields": "id,status", "limit": str(MOST_AT_ONCE)}
            found = await site.look("/posts/", _Some, params=params)
            there.update(post.id for post in found.posts if post.status in _SEEN)
        return {each: Figures() if each in there else None for each in ids}

    async def _store(self, site: Site, picture: Picture, stem: str) -> str:
        """The address of the picture on the blog; once more is another file, which nobody sees."""
        kind, content = form_with_file({"purpose": "image"}, picture, file_name(picture, stem))
        stored = await site.prepare("/images/upload/", _Images, content=content, headers={"content-type": kind})
        return stored.images[0].url


def token(key: str, now: datetime) -> str:
    """A token for the next minutes: a JWT (RFC 7519) signed with HS256. LoginError where `key` is no Admin API key."""
    name, _, secret = key.partition(":")
    try:
        raw = bytes.fromhex(secret)
    except ValueError:
        raw = b""
    if not name or not raw:
        raise LoginError("That is no Admin API key: it has two parts with a colon between them.", hint="Copy it anew.")
    made = int(now.timestamp())
    head = {"alg": "HS256", "typ": "JWT", "kid": name}
    claims = {"iat": made, "exp": made + TOKEN_SECONDS, "aud": "/admin/"}
    signed = b".".join(_base64(msgspec.json.encode(part)) for part in (head, claims))
    return b".".join((signed, _base64(hmac.digest(raw, signed, "sha256")))).decode()


def _base64(raw: bytes) -> bytes:
    return urlsafe_b64encode(raw).rstrip(b"=")
