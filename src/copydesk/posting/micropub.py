"""Micropub (w3.org/TR/micropub), with a token of IndieAuth.

The article is seen at once, in one step. `post-status` is an extension that a server may ignore, and nothing that it
says beforehand tells reliably whether it does: a first step that was meant to be hidden would then be the post itself.
So what was lost is looked for in the server's list of posts (`q=source`, an extension too), by the key in its address
or by its title and text, and where the server has no list, the user is asked.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import ClassVar
from urllib.parse import urljoin, urlsplit

import msgspec

from copydesk.model.draft import Format
from copydesk.posting import blog
from copydesk.posting.http import Answer, Caller
from copydesk.posting.micropub_finding import Found, Page, endpoint_of, is_ours, reaches_back
from copydesk.posting.multipart import file_name, form_with_file
from copydesk.posting.platform import (
    CONNECT_AGAIN,
    Account,
    Connected,
    Evidence,
    Figures,
    Intent,
    Limits,
    LoginError,
    Made,
    NotSentError,
    Picture,
    Post,
    Problem,
    RefusedPostError,
    Secrets,
    Step,
    Trust,
    UnknownOutcomeError,
    Wanted,
)
from copydesk.posting.site import Site, own_server, shown
from copydesk.text import links

QUIET = timedelta(minutes=15)
"""A server may build its site some time after it took a post (202)."""
PAGE, MOST_PAGES = 50, 5


class _Config(msgspec.Struct, frozen=True, rename="kebab"):
    media_endpoint: str = ""


class Micropub:
    """A Platform over one's own site."""

    name: ClassVar[str] = "micropub"
    limits: ClassVar[Limits] = Limits(
        formats=frozenset({Format.BLOG}), pictures=4, picture_bytes=2_000_000, alt_characters=1000
    )
    home: ClassVar[str] = ""
    wants: ClassVar[tuple[Wanted, ...]] = (Wanted(name="token", question="A token of your site", secret=True),)

    def __init__(self, caller: Caller, secrets: Secrets, *, clock: Callable[[], datetime]) -> None:
        self._caller = caller
        self._secrets = secrets
        self._clock = clock

    def trust(self, account: Account) -> Trust:
        """No key counts, and what was taken may take its time."""
        return Trust(quiet=QUIET)

    def problems(self, post: Post, account: Account) -> Sequence[Problem]:
        """Why the post would make no article."""
        return blog.problems(post)

    def render(self, post: Post, account: Account, seed: str) -> Intent:
        """One h-entry; the server may take the hint for its address, or not."""
        written = blog.article(post, seed)
        properties: dict[str, object] = {
            "name": [written.title],
            "content": [{"html": blog.html(written.text)}],
            "mp-slug": [written.slug],
        }
        if post.tags:
            properties["category"] = list(dict.fromkeys(post.tags))
        body: dict[str, object] = {"type": ["h-entry"], "properties": properties}
        return Intent(steps=(Step(keys=(written.slug,), body=body),), at=post.at)

    async def connect(self, server: str, given: Mapping[str, str]) -> Connected:
        """The site at `server`, or the one whose endpoint it is."""
        address = own_server(server)
        page = f"{address}/" if server.strip().endswith("/") else address
        secrets = {"token": given["token"].strip(), "endpoint": await self._endpoint(page)}
        account = Account(platform=self.name, server=address, id=address, name=_name(address))
        await self._config(self._site(secrets))
        return Connected(account=account, secrets=secrets)

    async def check(self, account: Account) -> Account:
        """The account as it was, where the endpoint still knows the token."""
        await self._config(await self._open(account))
        return account

    async def send(
        self, account: Account, intent: Intent, made: Sequence[Made], pictures: Sequence[Picture] = ()
    ) -> Made:
        """Post the article, whose pictures stand on the site first."""
        site = await self._open(account)
        step = intent.steps[0]
        body = await self._with_pictures(site, step, pictures) if pictures else step.body
        answer = await site.ask("POST", json=body)
        if answer.status not in (200, 201, 202):
            raise site.wrong(answer)
        url = _location(site, answer)
        return Made(ids=(url,), urls=shown(url))

    async def look_up(self, account: Account, intent: Intent, made: Sequence[Made], since: datetime) -> Made | None:
        """The article in the list of posts, as far as that reaches back to `since`."""
        site = await self._open(account)
        params = {"q": "source", "limit": str(PAGE)}
        for _ in range(MOST_PAGES):
            page = await self._page(site, params)
            for item in page.items:
                if is_ours(item, intent.steps[0], since) and item.url:
                    return Made(ids=(item.url,), urls=shown(item.url), evidence=Evidence.READ_BACK)
            if reaches_back(page.items, since):
                return None
            if not page.paging.after:
                break
            params["after"] = page.paging.after
        raise UnknownOutcomeError(
            f"The list of posts of {site.host} does not tell whether the article is there.", hint="Look at your site."
        )

    async def delete(self, account: Account, made: Made) -> None:
        """Ask the site to delete the article."""
        site = await self._open(account)
        for url in made.ids:
            answer = await site.ask("POST", json={"action": "delete", "url": url})
            if not answer.good and answer.status not in (404, 410):
                raise site.wrong(answer)

    async def figures(self, account: Account, ids: Sequence[str]) -> Mapping[str, Figures | None]:
        """No site reports any; that an article is gone is seen at its own address, without the token."""
        return {url: None if await self._gone(url) else Figures() for url in ids}

    async def _gone(self, url: str) -> bool:
        try:
            return (await self._caller.ask("GET", url, headers={"accept": "text/html"})).status in (404, 410)
        except UnknownOutcomeError as error:
            raise NotSentError(error.message, hint=error.hint) from None

    async def _page(self, site: Site, params: Mapping[str, str]) -> Page:
        found = await site.seek("", Found, params=params, missing=frozenset({400, 404, 501}))
        if found is None or found.items is None:
            raise UnknownOutcomeError(f"{site.host} has no list of its posts to look at.", hint="Look at your site.")
        return Page.of(found)

    async def _with_pictures(self, site: Site, step: Step, pictures: Sequence[Picture]) -> dict[str, object]:
        endpoint = (await self._config(site)).media_endpoint
        if not endpoint:
            raise RefusedPostError(f"{site.host} takes no pictures.", hint="Take them out of the draft.")
        media = site.at(_absolute(site.base, endpoint))
        photos = [{"value": await _store(media, one, step.keys[0]), "alt": one.alt} for one in pictures]
        properties = step.body["properties"]
        assert isinstance(properties, dict)
        return {**step.body, "properties": {**properties, "photo": photos}}

    async def _config(self, site: Site) -> _Config:
        """What the server says of itself; a server that says nothing has at least looked at the token."""
        found = await site.seek("", _Config, params={"q": "config"}, missing=frozenset({400, 404, 501}))
        return found or _Config()

    async def _endpoint(self, page: str) -> str:
        """Where posts are taken: what the page names, else the page itself, where it is none for people.

        It is asked without the token: not every page is to get it.
        """
        try:
            answer = await self._caller.ask("GET", page, headers={"accept": "text/html, */*;q=0.1"})
        except UnknownOutcomeError as error:
            raise NotSentError(error.message, hint=error.hint) from None
        named = endpoint_of(answer, page)
        if named is not None:
            own_server(named.partition("?")[0])
            return named
        if answer.good and "html" in answer.headers.get("content-type", "").lower():
            raise RefusedPostError("The page names no Micropub endpoint.", hint="Give the endpoint's own address.")
        return page

    async def _open(self, account: Account) -> Site:
        return self._site(await self._secrets.read(account))

    def _site(self, secrets: Mapping[str, str]) -> Site:
        if not secrets["token"]:
            raise LoginError("There is no token.", hint=CONNECT_AGAIN)
        headers = {"authorization": f"Bearer {secrets['token']}"}
        return Site(self._caller, secrets["endpoint"], headers, self._clock())


async def _store(media: Site, picture: Picture, stem: str) -> str:
    """The address of the picture on the site."""
    kind, content = form_with_file({}, picture, file_name(picture, stem))
    answer = await media.ask_ahead("", content=content, headers={"content-type": kind})
    if not answer.good:
        raise media.not_ready(answer)
    try:
        return _location(media, answer)
    except UnknownOutcomeError as error:
        raise NotSentError(error.message) from None


def _location(site: Site, answer: Answer) -> str:
    """Where the answer says that something is."""
    url = _absolute(site.base, answer.headers.get("location", ""))
    if not url:
        raise UnknownOutcomeError(f"{site.host} took it, and does not say where it is.")
    return url


def _absolute(base: str, url: str) -> str:
    """`url` as a whole address; empty where it is none."""
    try:
        return links.postable(urljoin(base, url.strip())) or "" if url.strip() else ""
    except ValueError:
        return ""


def _name(address: str) -> str:
    parts = urlsplit(address)
    return parts.netloc + parts.path
