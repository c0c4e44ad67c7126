"""WordPress by its REST API (developer.wordpress.org/rest-api), with an application password.

A second draft of one slug gets `-2` at its end and is a post of its own, so the slug is looked for first. Tags and
pictures stand on the site before the post does, and are found again by their name and their slug.
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
"""Posts that one request may ask about."""
_SEEN = frozenset({"publish", "private"})
_FIELDS = {"_fields": "id,status,link"}
_EDIT = {"context": "edit", "status": "any", **_FIELDS}

_Id = Annotated[int, msgspec.Meta(gt=0)]


class _Post(msgspec.Struct, frozen=True):
    id: _Id
    status: str
    link: str = ""


class _Picture(msgspec.Struct, frozen=True):
    id: _Id
    source_url: str = ""


class _Tag(msgspec.Struct, frozen=True):
    id: _Id


class _Taken(msgspec.Struct, frozen=True):
    """The answer to a tag that is there already."""

    code: str
    data: "_Named"


class _Named(msgspec.Struct, frozen=True):
    term_id: _Id


class _User(msgspec.Struct, frozen=True):
    id: _Id
    slug: str = ""


class WordPress(DraftedBlog):
    """A Platform over one's own WordPress."""

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
        """What the draft is made of; its tags have names, and get numbers on the site."""
        tags = list(dict.fromkeys(post.tags))
        return {"slug": written.slug, "title": written.title, "content": blog.html(written.text), "tags": tags}

    def site(self, server: str, secrets: Mapping[str, str]) -> Site:
        """The REST API of the blog."""
        key = b64encode(f"{secrets['user']}:{secrets['password']}".encode()).decode()
        return Site(self._caller, server + API, {"authorization": f"Basic {key}"}, self._clock())

    async def connect(self, server: str, given: Mapping[str, str]) -> Connected:
        """The user of this name on the blog at `server`."""
        address = own_server(server)
        secrets = {"user": given["user"].strip(), "password": given["password"].strip()}
        return Connected(account=await self._account(address, self.site(address, secrets)), secrets=secrets)

    async def check(self, account: Account) -> Account:
        """The user as the blog knows them now."""
        return await self._account(account.server, await self._open(account))

    async def _account(self, server: str, site: Site) -> Account:
        user = await site.look("/users/me", _User, params={"context": "edit", "_fields": "id,slug"})
        parts = urlsplit(server)
        name = f"{user.slug}@{parts.netloc}{parts.path}" if user.slug else parts.netloc + parts.path
        return Account(platform=self.name, server=server, id=str(user.id), name=name)

    async def find(self, site: Site, draft: Step, since: object) -> Made | None:
        """The post that has the slug, whatever became of it."""
        found = await site.look("/posts", list[_Post], params={"slug": draft.keys[0], **_EDIT})
        return Made(ids=(str(found[0].id),), urls=(), evidence=Evidence.READ_BACK) if found else None

    async def write(self, site: Site, draft: Step, pictures: Sequence[Picture], secrets: Mapping[str, str]) -> Made:
        """Tags and pictures first: a post whose pictures cannot be there is not made."""
        body: dict[str, object] = {**draft.body, "status": "draft", "tags": await self._tags(site, draft)}
        if pictures:
            names = [f"{draft.keys[0]}-picture-{number}" for number in range(1, len(pictures) + 1)]
            stored = [await self._store(site, *one) for one in zip(pictures, names, strict=True)]
            body["featured_media"] = stored[0].id
            below = [
                blog.figure(one.source_url, picture.alt) for one, picture in zip(stored[1:], pictures[1:], strict=True)
            ]
            body["content"] = "\n".join([str(body["content"]), *below])
        made = await site.make("POST", "/posts", _Post, json=body, params=_FIELDS)
        return Made(ids=(str(made.id),), urls=())

    async def publish(self, site: Site, post_id: str) -> Made:
        """Set its status; a user who may not publish is told so by the blog."""
        post = await site.make("POST", f"/posts/{post_id}", _Post, json={"status": "publish"}, params=_FIELDS)
        if post.status not in _SEEN:
            raise RefusedPostError(
                f"{site.host} keeps the post as “{post.status}”, and does not show it.", hint="Publish it there."
            )
        return Made(ids=(post_id,), urls=shown(post.link))

    async def published(self, site: Site, post_id: str, since: object) -> Made | None:
        """The post, where its status says that it is seen."""
        found = await site.look("/posts", list[_Post], params={"include": post_id, **_EDIT})
        seen = [post for post in found if post.status in _SEEN and str(post.id) == post_id]
        return Made(ids=(post_id,), urls=shown(seen[0].link), evidence=Evidence.READ_BACK) if seen else None

    async def delete(self, account: Account, made: Made) -> None:
        """Put the post into the blog's trash."""
        site = await self._open(account)
        for post_id in made.ids:
            answer = await site.ask("DELETE", f"/posts/{post_id}")
            if not answer.good and answer.status not in (404, 410):
                raise site.wrong(answer)

    async def figures(self, account: Account, ids: Sequence[str]) -> Mapping[str, Figures | None]:
        """WordPress counts nothing; only what is gone is known."""
        site = await self._open(account)
        there: set[str] = set()
        for start in range(0, len(ids), MOST_AT_ONCE):
            some = ",".join(ids[start : start + MOST_AT_ONCE])
            params = {"include": some, "per_page": str(MOST_AT_ONCE), **_EDIT}
            found = await site.look("/posts", list[_Post], params=params)
            there.update(str(post.id) for post in found if post.status in _SEEN)
        return {each: Figures() if each in there else None for each in ids}

    async def _tags(self, site: Site, draft: Step) -> list[int]:
        """The numbers of the tags; those that the blog does not know yet are made."""
        names = draft.body["tags"]
        assert isinstance(names, list)
        return [await self._tag(site, str(name)) for name in names]

    async def _tag(self, site: Site, name: str) -> int:
        """The number of one tag. Asking twice is the same: WordPress names the one that is there."""
        answer = await site.ask_ahead("/tags", json={"name": name})
        number = _tag_number(answer)
        if number is not None:
            return number
        error = site.not_ready(answer)
        if answer.status == 403:
            raise RefusedPostError(f"The tag “{said(name)}” cannot be made. {error.message}", hint="Take it out.")
        raise error

    async def _store(self, site: Site, picture: Picture, name: str) -> _Picture:
        """The picture in the blog's media, where an attempt before this one may have left it."""
        fields = {"_fields": "id,source_url"}
        found = await site.look("/media", list[_Picture], params={"slug": name, **fields})
        if found:
            return found[0]
        form = {"slug": name, "alt_text": picture.alt}
        kind, content = form_with_file(form, picture, file_name(picture, name))
        return await site.prepare("/media", _Picture, content=content, headers={"content-type": kind}, params=fields)


def _tag_number(answer: Answer) -> int | None:
    """The number of the tag that was made, or was there."""
    try:
        if answer.good:
            return msgspec.json.decode(answer.body, type=_Tag).id
        taken = msgspec.json.decode(answer.body, type=_Taken)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return taken.data.term_id if taken.code == "term_exists" else None
