"""Ghost over its Admin API (ghost.org/docs/admin-api), with the key of a custom integration.

Ghost gives a second draft with the same slug the suffix `-2` and ignores ids chosen by the client, so the slug is
looked up first. Publishing must name the post's current `updated_at`; if somebody else changed the post meanwhile,
Ghost answers 409.
"""

import hmac
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, ClassVar

import msgspec

from copydesk.model.platform import PlatformInfo
from copydesk.posting.blogs import articles
from copydesk.posting.blogs.articles import DraftThenPublish
from copydesk.posting.client import encode_form_with_image, image_file_name
from copydesk.posting.platform import (
    Account,
    ConnectResult,
    DeliveryStep,
    Evidence,
    LoginError,
    Post,
    PostImage,
    PostMetrics,
    Problem,
    RefusedPostError,
    StepResult,
    UnknownOutcomeError,
    require_credential,
)
from copydesk.posting.registry import PLATFORMS
from copydesk.posting.site import Site, link_urls, parse_server_url, site_name

API = "/ghost/api/admin"
VERSION = "v5.0"
# A minute below the limit, for clocks that differ.
TOKEN_SECONDS = 240
"""Lifetime of a token. Ghost accepts at most five minutes, by its own clock."""
MAX_IDS_PER_REQUEST = 100
_VISIBLE = frozenset({"published", "sent"})

_Id = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9-]{1,64}\Z")]


class _Post(msgspec.Struct, frozen=True):
    id: _Id
    status: str
    updated_at: str = ""
    url: str = ""


class _Posts(msgspec.Struct, frozen=True):
    posts: Annotated[list[_Post], msgspec.Meta(min_length=1)]


class _PostList(msgspec.Struct, frozen=True):
    posts: list[_Post]


class _Image(msgspec.Struct, frozen=True):
    url: Annotated[str, msgspec.Meta(pattern=r"\Ahttps?://", max_length=2000)]


class _Images(msgspec.Struct, frozen=True):
    images: Annotated[list[_Image], msgspec.Meta(min_length=1)]


class Ghost(DraftThenPublish):
    """A self-hosted Ghost blog."""

    info: ClassVar[PlatformInfo] = PLATFORMS["ghost"]

    def validate(self, post: Post, account: Account) -> Sequence[Problem]:
        """Return the reasons why the post would make no article here: those of all blogs, and a long alt text."""
        problems = list(super().validate(post, account))
        # Those of other images are part of the text.
        length, limit = len(post.alts[0]) if post.alts else 0, self.info.limits.max_alt_length
        if length > limit:
            message = f"The alt text of the first image has {length} characters; the limit on Ghost is {limit}."
            problems.append(Problem(message=message))
        return problems

    def draft_body(self, post: Post, article: articles.Article) -> dict[str, object]:
        """Return the request body of the draft."""
        tags = [{"name": tag} for tag in dict.fromkeys(post.tags)]
        return {
            "slug": article.slug,
            "title": article.title,
            "html": articles.render_markdown(article.text),
            "tags": tags,
        }

    def create_site(self, server: str, credentials: Mapping[str, str]) -> Site:
        """Return the blog's Admin API with a token for the next few minutes."""
        token = create_token(require_credential(credentials, "key"), self._clock())
        headers = {"authorization": f"Ghost {token}", "accept-version": VERSION}
        return Site(self._client, server + API, headers, self._clock)

    async def connect(self, server: str, credentials: Mapping[str, str]) -> ConnectResult:
        """Return the account of the integration that the key belongs to, on the blog at `server`."""
        # The URL of the admin area is accepted, too.
        address = parse_server_url(server).removesuffix("/ghost")
        secrets = {"key": credentials["key"].strip()}
        return ConnectResult(
            account=await self._account(address, self.create_site(address, secrets)), credentials=secrets
        )

    async def check(self, account: Account) -> Account:
        """Return the account unchanged if the blog still accepts the key."""
        return await self._account(account.server, await self._open_site(account))

    async def _account(self, server: str, site: Site) -> Account:
        # `/site/` is public, so it would accept any key: list a post to verify this one.
        await site.get("/posts/", _PostList, params={"limit": "1", "fields": "id,status"})
        return Account(platform=self.info.name, server=server, id=server, name=site_name(server))

    async def find_draft(self, site: Site, draft: DeliveryStep, since: datetime) -> StepResult | None:
        """Return the post with the slug, draft or published; None if there is none."""
        page = await site.get_or_none(f"/posts/slug/{draft.keys[0]}/", _Posts)
        return StepResult(ids=(page.posts[0].id,), urls=(), evidence=Evidence.READ_BACK) if page else None

    async def create_draft(
        self, site: Site, draft: DeliveryStep, images: Sequence[PostImage], credentials: Mapping[str, str]
    ) -> StepResult:
        """Upload the images, then create the draft: without its images no post is created."""
        body: dict[str, object] = {**draft.body, "status": "draft"}
        image_urls = [await self._upload(site, image, draft.keys[0]) for image in images]
        if image_urls:
            # The first image is the article's feature image; the others go below the text.
            body["feature_image"], body["feature_image_alt"] = image_urls[0], images[0].alt
            image_html = [
                articles.figure_html(url, image.alt) for url, image in zip(image_urls[1:], images[1:], strict=True)
            ]
            body["html"] = "\n".join([str(body["html"]), *image_html])
        # `source=html` makes Ghost convert the HTML to its own format.
        response = await site.create("POST", "/posts/", _Posts, json={"posts": [body]}, params={"source": "html"})
        return StepResult(ids=(response.posts[0].id,), urls=())

    async def publish(self, site: Site, post_id: str) -> StepResult:
        """Set the status to published unless it already is."""
        page = await site.get_or_none(f"/posts/{post_id}/", _Posts)
        if page is None:
            raise RefusedPostError(f"The draft no longer exists on {site.host}.", hint="Post it again as a new post.")
        post = page.posts[0]
        if post.status in _VISIBLE:
            return StepResult(ids=(post_id,), urls=link_urls(post.url), evidence=Evidence.READ_BACK)
        # A 409 (somebody else edited the post) is no documented rejection: it becomes an unknown outcome, which the
        # next lookup resolves.
        body = {"posts": [{"status": "published", "updated_at": post.updated_at}]}
        updated = (await site.create("PUT", f"/posts/{post_id}/", _Posts, json=body)).posts[0]
        if updated.status not in _VISIBLE:
            raise UnknownOutcomeError(f"{site.host} did not confirm the publication of the post.")
        return StepResult(ids=(post_id,), urls=link_urls(updated.url))

    async def find_published(self, site: Site, post_id: str, since: datetime) -> StepResult | None:
        """Return the post if its status makes it visible."""
        page = await site.get_or_none(f"/posts/{post_id}/", _Posts)
        if page is None or page.posts[0].status not in _VISIBLE:
            return None
        return StepResult(ids=(post_id,), urls=link_urls(page.posts[0].url), evidence=Evidence.READ_BACK)

    async def delete(self, account: Account, result: StepResult) -> None:
        """Delete the post for good; Ghost has no trash."""
        site = await self._open_site(account)
        for post_id in result.ids:
            response = await site.request("DELETE", f"/posts/{post_id}/")
            # A post that is gone already is what was asked for.
            if not response.is_success and response.status != 404:
                raise site.error_for_write(response)

    async def metrics(self, account: Account, ids: Sequence[str]) -> Mapping[str, PostMetrics | None]:
        """Return empty metrics: Ghost reports none of them. Deleted and unpublished posts are None."""
        site = await self._open_site(account)
        visible: set[str] = set()
        for start in range(0, len(ids), MAX_IDS_PER_REQUEST):
            id_list = ",".join(f"'{post_id}'" for post_id in ids[start : start + MAX_IDS_PER_REQUEST])
            params = {"filter": f"id:[{id_list}]", "fields": "id,status", "limit": str(MAX_IDS_PER_REQUEST)}
            page = await site.get("/posts/", _PostList, params=params)
            visible.update(post.id for post in page.posts if post.status in _VISIBLE)
        return {post_id: PostMetrics() if post_id in visible else None for post_id in ids}

    async def _upload(self, site: Site, image: PostImage, stem: str) -> str:
        """Upload an image and return its URL. A repeated upload makes another file that no post shows."""
        content_type, content = encode_form_with_image({"purpose": "image"}, image, image_file_name(image, stem))
        uploaded = await site.create_prerequisite(
            "/images/upload/", _Images, content=content, headers={"content-type": content_type}
        )
        return uploaded.images[0].url


def create_token(key: str, now: datetime) -> str:
    """Return a token for the next minutes, a JWT (RFC 7519) signed with HS256.

    Raise `LoginError` if `key` is no Admin API key.
    """
    # An Admin API key is `id:secret` with the secret in hexadecimal.
    key_id, _, secret = key.partition(":")
    try:
        secret_bytes = bytes.fromhex(secret)
    except ValueError:
        secret_bytes = b""
    if not key_id or not secret_bytes:
        raise LoginError("Not an Admin API key: it has two parts separated by a colon.", hint="Copy it again.")
    issued_at = int(now.timestamp())
    header = {"alg": "HS256", "typ": "JWT", "kid": key_id}
    claims = {"iat": issued_at, "exp": issued_at + TOKEN_SECONDS, "aud": "/admin/"}
    unsigned = b".".join(_base64(msgspec.json.encode(part)) for part in (header, claims))
    return b".".join((unsigned, _base64(hmac.digest(secret_bytes, unsigned, "sha256")))).decode()


def _base64(raw: bytes) -> bytes:
    return urlsafe_b64encode(raw).rstrip(b"=")
