"""WordPress over its REST API (developer.wordpress.org/rest-api), with an application password.

WordPress gives a second draft with the same slug the suffix `-2`, as a separate post, so the slug is looked up first.
Tags and images are created before the post and found again by name and slug.
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, ClassVar

import msgspec

from copydesk.model.platform import PlatformInfo
from copydesk.posting.blogs import articles
from copydesk.posting.blogs.articles import DraftThenPublish
from copydesk.posting.client import Response, encode_form_with_image, image_file_name, shorten
from copydesk.posting.platform import (
    Account,
    ConnectResult,
    DeliveryStep,
    Evidence,
    Post,
    PostImage,
    PostMetrics,
    RefusedPostError,
    StepResult,
    UnknownOutcomeError,
    require_credential,
)
from copydesk.posting.registry import PLATFORMS
from copydesk.posting.site import Site, link_urls, parse_server_url, site_name

API = "/wp-json/wp/v2"
MAX_IDS_PER_REQUEST = 100
"""Posts per request; the API's maximum for `per_page`."""
_VISIBLE = frozenset({"publish", "private"})
# Without it every response holds the whole article.
_FIELDS = {"_fields": "id,slug,status,link"}
_ANY_STATUS = {"context": "edit", "status": "any", **_FIELDS}

_Id = Annotated[int, msgspec.Meta(gt=0)]


class _Post(msgspec.Struct, frozen=True):
    id: _Id
    status: str
    slug: str = ""
    link: str = ""


class _MediaItem(msgspec.Struct, frozen=True):
    id: _Id
    slug: str = ""
    source_url: str = ""


class _Tag(msgspec.Struct, frozen=True):
    id: _Id


class _TermExists(msgspec.Struct, frozen=True):
    """The error response for a tag that already exists."""

    code: str
    data: "_TermData"


class _TermData(msgspec.Struct, frozen=True):
    term_id: _Id


class _User(msgspec.Struct, frozen=True):
    id: _Id
    slug: str = ""


class WordPress(DraftThenPublish):
    """A self-hosted WordPress blog."""

    info: ClassVar[PlatformInfo] = PLATFORMS["wordpress"]

    def draft_body(self, post: Post, article: articles.Article) -> dict[str, object]:
        """Return the request body of the draft; its tags are names here and replaced by ids when it is sent."""
        tags = list(dict.fromkeys(post.tags))
        return {
            "slug": article.slug,
            "title": article.title,
            "content": articles.render_markdown(article.text),
            "tags": tags,
        }

    def create_site(self, server: str, credentials: Mapping[str, str]) -> Site:
        """Return the blog's REST API."""
        user, password = (require_credential(credentials, name) for name in ("user", "password"))
        key = b64encode(f"{user}:{password}".encode()).decode()
        return Site(self._client, server + API, {"authorization": f"Basic {key}"}, self._clock)

    async def connect(self, server: str, credentials: Mapping[str, str]) -> ConnectResult:
        """Return the account of the entered user on the blog at `server`."""
        address = parse_server_url(server)
        secrets = {"user": credentials["user"].strip(), "password": credentials["password"].strip()}
        return ConnectResult(
            account=await self._account(address, self.create_site(address, secrets)), credentials=secrets
        )

    async def check(self, account: Account) -> Account:
        """Return the user as the blog describes them now."""
        return await self._account(account.server, await self._open_site(account))

    async def _account(self, server: str, site: Site) -> Account:
        user = await site.get("/users/me", _User, params={"context": "edit", "_fields": "id,slug"})
        name = f"{user.slug}@{site_name(server)}" if user.slug else site_name(server)
        return Account(platform=self.info.name, server=server, id=str(user.id), name=name)

    async def find_draft(self, site: Site, draft: DeliveryStep, since: datetime) -> StepResult | None:
        """Return the post with the slug, in whatever status; None if there is none."""
        posts = await site.get("/posts", list[_Post], params={"slug": draft.keys[0], **_ANY_STATUS})
        # Compared again: a server that ignores the filter would return other posts, and one of them be published.
        own = [post for post in posts if post.slug == draft.keys[0]]
        return StepResult(ids=(str(own[0].id),), urls=(), evidence=Evidence.READ_BACK) if own else None

    async def create_draft(
        self, site: Site, draft: DeliveryStep, images: Sequence[PostImage], credentials: Mapping[str, str]
    ) -> StepResult:
        """Create tags, images and then the draft: without its images no post is created."""
        body: dict[str, object] = {**draft.body, "status": "draft", "tags": await self._tag_ids(site, draft)}
        if images:
            names = [f"{draft.keys[0]}-picture-{number}" for number in range(1, len(images) + 1)]
            uploads = [await self._upload(site, *pair) for pair in zip(images, names, strict=True)]
            # The first image is the article's featured image; the others go below the text.
            body["featured_media"] = uploads[0].id
            image_html = [
                articles.figure_html(upload.source_url, image.alt)
                for upload, image in zip(uploads[1:], images[1:], strict=True)
            ]
            body["content"] = "\n".join([str(body["content"]), *image_html])
        created = await site.create("POST", "/posts", _Post, json=body, params=_FIELDS)
        return StepResult(ids=(str(created.id),), urls=())

    async def publish(self, site: Site, post_id: str) -> StepResult:
        """Set the status. If the user may not publish, the blog rejects it or keeps the post as pending."""
        post = await site.create("POST", f"/posts/{post_id}", _Post, json={"status": "publish"}, params=_FIELDS)
        if post.status not in _VISIBLE:
            raise RefusedPostError(
                f"{site.host} saved the post as “{shorten(post.status)}”; it is not public.", hint="Publish it there."
            )
        return StepResult(ids=(post_id,), urls=link_urls(post.link))

    async def find_published(self, site: Site, post_id: str, since: datetime) -> StepResult | None:
        """Return the post if its status makes it visible."""
        posts = await site.get("/posts", list[_Post], params={"include": post_id, **_ANY_STATUS})
        # Compared again, as above.
        visible = [post for post in posts if post.status in _VISIBLE and str(post.id) == post_id]
        return (
            StepResult(ids=(post_id,), urls=link_urls(visible[0].link), evidence=Evidence.READ_BACK)
            if visible
            else None
        )

    async def delete(self, account: Account, result: StepResult) -> None:
        """Move the post to the blog's trash."""
        site = await self._open_site(account)
        for post_id in result.ids:
            response = await site.request("DELETE", f"/posts/{post_id}")
            if not response.is_success and response.status not in (404, 410):
                raise site.error_for_write(response)

    async def metrics(self, account: Account, ids: Sequence[str]) -> Mapping[str, PostMetrics | None]:
        """Return empty metrics: WordPress counts nothing. Deleted posts are None."""
        site = await self._open_site(account)
        visible: set[str] = set()
        for start in range(0, len(ids), MAX_IDS_PER_REQUEST):
            batch = ",".join(ids[start : start + MAX_IDS_PER_REQUEST])
            # Without `per_page` WordPress returns ten posts.
            params = {"include": batch, "per_page": str(MAX_IDS_PER_REQUEST), **_ANY_STATUS}
            posts = await site.get("/posts", list[_Post], params=params)
            visible.update(str(post.id) for post in posts if post.status in _VISIBLE)
        return {post_id: PostMetrics() if post_id in visible else None for post_id in ids}

    async def _tag_ids(self, site: Site, draft: DeliveryStep) -> list[int]:
        """Return the ids of the tags, creating the missing ones."""
        names = draft.body["tags"]
        assert isinstance(names, list)
        return [await self._get_or_create_tag(site, str(name)) for name in names]

    async def _get_or_create_tag(self, site: Site, name: str) -> int:
        """Return the id of one tag. Repeating this is safe: WordPress answers with the existing tag."""
        response = await site.post_prerequisite("/tags", json={"name": name})
        tag_id = _tag_id(response)
        if tag_id is not None:
            return tag_id
        error = site.error_for_prerequisite(response)
        # The role of the user may not allow creating tags; name the tag, so that the user can remove it.
        if response.status == 403:
            raise RefusedPostError(f"Cannot create the tag “{shorten(name)}”. {error.message}", hint="Remove it.")
        raise error

    async def _upload(self, site: Site, image: PostImage, name: str) -> _MediaItem:
        """Return the uploaded image; an earlier attempt may have uploaded it already."""
        fields = {"_fields": "id,slug,source_url"}
        media = await site.get("/media", list[_MediaItem], params={"slug": name, **fields})
        if existing := [item for item in media if item.slug == name]:
            return existing[0]
        # The slug makes the upload findable by the next attempt.
        form = {"slug": name, "alt_text": image.alt}
        content_type, content = encode_form_with_image(form, image, image_file_name(image, name))
        return await site.create_prerequisite(
            "/media", _MediaItem, content=content, headers={"content-type": content_type}, params=fields
        )


def _tag_id(response: Response) -> int | None:
    """Return the id of the tag that was created or already existed; None for any other response."""
    try:
        if response.is_success:
            return response.decode(_Tag).id
        existing = response.decode(_TermExists)
    except UnknownOutcomeError:
        return None
    return existing.data.term_id if existing.code == "term_exists" else None
