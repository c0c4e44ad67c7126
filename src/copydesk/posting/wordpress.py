"""WordPress over its REST API (developer.wordpress.org/rest-api), with an application password.

WordPress gives a second draft with the same slug the suffix `-2`, as a separate post, so the slug is looked up first.
Tags and images are created before the post and found again by name and slug.
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar
from urllib.parse import urlsplit

import msgspec

from copydesk.model.draft import Format
from copydesk.posting import blog
from copydesk.posting.drafted import DraftedBlog
from copydesk.posting.http import Answer, said
from copydesk.posting.multipart import file_name, form_with_file
from copydesk.posting.platform import (
    Account,
    Connected,
    Evidence,
    Figures,
    Limits,
    Made,
    Picture,
    Post,
    RefusedPostError,
    Step,
    Wanted,
)
from copydesk.posting.site import Site, own_server, shown

API = "/wp-json/wp/v2"
MOST_AT_ONCE = 100
"""Posts per request; the API's maximum for `per_page`."""
_VISIBLE = frozenset({"publish", "private"})
_FIELDS = {"_fields": "id,status,link"}
_ANY_STATUS = {"context": "edit", "status": "any", **_FIELDS}

_Id = Annotated[int, msgspec.Meta(gt=0)]


class _Post(msgspec.Struct, frozen=True):
    id: _Id
    status: str
    link: str = ""


class _MediaItem(msgspec.Struct, frozen=True):
    id: _Id
    source_url: str = ""


class _Tag(msgspec.Struct, frozen=True):
    id: _Id


class _TermExists(msgspec.Struct, frozen=True):
    """The error response for a tag that already exists."""

    code: str
    data: "_Named"


class _Named(msgspec.Struct, frozen=True):
    term_id: _Id


class _User(msgspec.Struct, frozen=True):
    id: _Id
    slug: str = ""


class WordPress(DraftedBlog):
    """A self-hosted WordPress blog."""

    name: ClassVar[str] = "wordpress"
    limits: ClassVar[Limits] = Limits(
        formats=frozenset({Format.BLOG}),
        pictures=4,
        picture_bytes=2_000_000,
        picture_types=("image/jpeg", "image/png", "image/gif", "image/webp"),
        alt_characters=1000,
    )
    home: ClassVar[str] = ""
    wants: ClassVar[tuple[Wanted, ...]] = (
        Wanted(name="user", question="Your user name on the blog"),
        Wanted(
            name="password", question="An application password (Users > Profile > Application Passwords)", secret=True
        ),
    )

    def draft(self, post: Post, written: blog.Article) -> dict[str, object]:
        """Return the request body of the draft; its tags are names here and replaced by ids when it is sent."""
        tags = list(dict.fromkeys(post.tags))
        return {"slug": written.slug, "title": written.title, "content": blog.html(written.text), "tags": tags}

    def site(self, server: str, secrets: Mapping[str, str]) -> Site:
        """Return the blog's REST API."""
        key = b64encode(f"{secrets['user']}:{secrets['password']}".encode()).decode()
        return Site(self._caller, server + API, {"authorization": f"Basic {key}"}, self._clock())

    async def connect(self, server: str, given: Mapping[str, str]) -> Connected:
        """Return the account of the entered user on the blog at `server`."""
        address = own_server(server)
        secrets = {"user": given["user"].strip(), "password": given["password"].strip()}
        return Connected(account=await self._account(address, self.site(address, secrets)), secrets=secrets)

    async def check(self, account: Account) -> Account:
        """Return the user as the blog describes them now."""
        return await self._account(account.server, await self._open(account))

    async def _account(self, server: str, site: Site) -> Account:
        user = await site.look("/users/me", _User, params={"context": "edit", "_fields": "id,slug"})
        parts = urlsplit(server)
        name = f"{user.slug}@{parts.netloc}{parts.path}" if user.slug else parts.netloc + parts.path
        return Account(platform=self.name, server=server, id=str(user.id), name=name)

    async def find(self, site: Site, draft: Step, since: object) -> Made | None:
        """Return the post with the slug, in whatever status; None if there is none."""
        posts = await site.look("/posts", list[_Post], params={"slug": draft.keys[0], **_ANY_STATUS})
        return Made(ids=(str(posts[0].id),), urls=(), evidence=Evidence.READ_BACK) if posts else None

    async def write(self, site: Site, draft: Step, pictures: Sequence[Picture], secrets: Mapping[str, str]) -> Made:
        """Create tags, images and then the draft: without its images no post is created."""
        body: dict[str, object] = {**draft.body, "status": "draft", "tags": await self._tag_ids(site, draft)}
        if pictures:
            names = [f"{draft.keys[0]}-picture-{number}" for number in range(1, len(pictures) + 1)]
            uploads = [await self._upload(site, *pair) for pair in zip(pictures, names, strict=True)]
            # The first image is the article's featured image; the others go below the text.
            body["featured_media"] = uploads[0].id
            image_html = [
                blog.figure(upload.source_url, image.alt)
                for upload, image in zip(uploads[1:], pictures[1:], strict=True)
            ]
            body["content"] = "\n".join([str(body["content"]), *image_html])
        made = await site.make("POST", "/posts", _Post, json=body, params=_FIELDS)
        return Made(ids=(str(made.id),), urls=())

    async def publish(self, site: Site, post_id: str) -> Made:
        """Set the status. If the user may not publish, the blog rejects it or keeps the post as pending."""
        post = await site.make("POST", f"/posts/{post_id}", _Post, json={"status": "publish"}, params=_FIELDS)
        if post.status not in _VISIBLE:
            raise RefusedPostError(
                f"{site.host} keeps the post as “{post.status}”, and does not show it.", hint="Publish it there."
            )
        return Made(ids=(post_id,), urls=shown(post.link))

    async def published(self, site: Site, post_id: str, since: object) -> Made | None:
        """Return the post if its status makes it visible."""
        posts = await site.look("/posts", list[_Post], params={"include": post_id, **_ANY_STATUS})
        visible = [post for post in posts if post.status in _VISIBLE and str(post.id) == post_id]
        return Made(ids=(post_id,), urls=shown(visible[0].link), evidence=Evidence.READ_BACK) if visible else None

    async def delete(self, account: Account, made: Made) -> None:
        """Move the post to the blog's trash."""
        site = await self._open(account)
        for post_id in made.ids:
            answer = await site.ask("DELETE", f"/posts/{post_id}")
            if not answer.good and answer.status not in (404, 410):
                raise site.wrong(answer)

    async def figures(self, account: Account, ids: Sequence[str]) -> Mapping[str, Figures | None]:
        """Return empty metrics: WordPress counts nothing. Deleted posts are None."""
        site = await self._open(account)
        visible: set[str] = set()
        for start in range(0, len(ids), MOST_AT_ONCE):
            batch = ",".join(ids[start : start + MOST_AT_ONCE])
            # Without `per_page` WordPress returns ten posts.
            params = {"include": batch, "per_page": str(MOST_AT_ONCE), **_ANY_STATUS}
            posts = await site.look("/posts", list[_Post], params=params)
            visible.update(str(post.id) for post in posts if post.status in _VISIBLE)
        return {post_id: Figures() if post_id in visible else None for post_id in ids}

    async def _tag_ids(self, site: Site, draft: Step) -> list[int]:
        """Return the ids of the tags, creating the missing ones."""
        names = draft.body["tags"]
        assert isinstance(names, list)
        return [await self._get_or_create_tag(site, str(name)) for name in names]

    async def _get_or_create_tag(self, site: Site, name: str) -> int:
        """Return the id of one tag. Repeating this is safe: WordPress answers with the existing tag."""
        answer = await site.ask_ahead("/tags", json={"name": name})
        tag_id = _tag_id(answer)
        if tag_id is not None:
            return tag_id
        error = site.not_ready(answer)
        # The role of the user may not allow creating tags; name the tag, so that the user can remove it.
        if answer.status == 403:
            raise RefusedPostError(f"The tag “{said(name)}” cannot be made. {error.message}", hint="Take it out.")
        raise error

    async def _upload(self, site: Site, image: Picture, name: str) -> _MediaItem:
        """Return the uploaded image; an earlier attempt may have uploaded it already."""
        fields = {"_fields": "id,source_url"}
        existing = await site.look("/media", list[_MediaItem], params={"slug": name, **fields})
        if existing:
            return existing[0]
        # The slug makes the upload findable by the next attempt.
        form = {"slug": name, "alt_text": image.alt}
        content_type, content = form_with_file(form, image, file_name(image, name))
        return await site.prepare(
            "/media", _MediaItem, content=content, headers={"content-type": content_type}, params=fields
        )


def _tag_id(answer: Answer) -> int | None:
    """Return the id of the tag that was created or already existed; None for any other response."""
    try:
        if answer.good:
            return msgspec.json.decode(answer.body, type=_Tag).id
        existing = msgspec.json.decode(answer.body, type=_TermExists)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return existing.data.term_id if existing.code == "term_exists" else None
