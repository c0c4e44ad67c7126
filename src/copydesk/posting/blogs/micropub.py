"""Micropub (w3.org/TR/micropub) with an IndieAuth token, for any site whose page names an endpoint.

The article is visible at once, in one step: `post-status=draft` is an extension that servers may ignore, so a first
step meant as a hidden draft might be the visible post. A lost request is looked up in the server's list of posts
(`q=source`, an extension, too) by the key in the URL or by title and text; without a list, the user is asked.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import ClassVar
from urllib.parse import urljoin

import msgspec

from copydesk.model.platform import PlatformInfo
from copydesk.model.serialization import Struct
from copydesk.network.response import location
from copydesk.posting.blogs import articles
from copydesk.posting.client import PlatformClient, Response, as_repeatable, encode_form_with_image, image_file_name
from copydesk.posting.platform import (
    CLOCK_ERROR,
    Account,
    ConnectResult,
    CredentialStore,
    DeliveryGuarantees,
    DeliveryStep,
    Evidence,
    Intent,
    LookupUnsupportedError,
    NotSentError,
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
from copydesk.text import links
from copydesk.text.html_tags import iter_tags

_REL = re.compile(r";\s*rel\s*=\s*\"?([^\";,]{1,200})", re.IGNORECASE)
_SPACES = re.compile(r"\s+")

SETTLE_TIME = timedelta(minutes=15)
"""A server may rebuild its site some time after it accepted a post (202)."""
PAGE_SIZE, MAX_PAGES = 50, 5


class _Item(msgspec.Struct, frozen=True):
    properties: dict[str, object] = {}
    url: str = ""


class _Paging(msgspec.Struct, frozen=True):
    after: str = ""


class SourceResponse(msgspec.Struct, frozen=True):
    """The response to `q=source`; `items` is None if the response is no list."""

    items: list[_Item] | None = None
    paging: _Paging | None = None


class ListedPost(Struct, frozen=True):
    """A post of the list, with usable values only."""

    url: str
    name: str
    content: str
    slug: str
    published: datetime | None


class Page(Struct, frozen=True):
    """A page of the list and the cursor of the next one."""

    items: list[ListedPost]
    paging: _Paging

    @classmethod
    def from_response(cls, response: SourceResponse) -> "Page":
        """Return the usable part of a response."""
        return cls(items=[_parse_item(item) for item in response.items or ()], paging=response.paging or _Paging())


def is_own_post(item: ListedPost, step: DeliveryStep, since: datetime) -> bool:
    """Return True if the post has our key in its URL or slug.

    Without the key, it must have our title and text and must not be older than `since`.
    """
    # The server may ignore `mp-slug`; then title, text and time have to match.
    key = step.keys[0].rpartition("-")[2]
    if key in item.url or key in item.slug:
        return True
    if item.published is None or item.published < since - CLOCK_ERROR:
        return False
    properties = step.body["properties"]
    assert isinstance(properties, dict)
    return (item.name, _collapse_spaces(item.content)) == (
        _first_value(properties["name"]),
        _collapse_spaces(_first_value(properties["content"])),
    )


def reaches_back(items: Sequence[ListedPost], since: datetime) -> bool:
    """Return True if the posts, which must be sorted newest first, include one older than `since`."""
    times = [item.published for item in items if item.published is not None]
    # In any other order a page says nothing about the next one.
    return bool(times) and times == sorted(times, reverse=True) and times[-1] < since - CLOCK_ERROR


def find_endpoint(response: Response, page: str) -> str | None:
    """Return the endpoint named in the page's Link header or HTML; None if there is none."""
    for url in (
        *_links_in_header(response.headers.get("link", "")),
        *_links_in_page(response.body.decode("utf-8", "replace")),
    ):
        try:
            endpoint = links.postable_url(urljoin(page, url))
        except ValueError:
            continue
        if endpoint:
            return endpoint
    return None


def _links_in_header(link: str) -> Iterator[str]:
    """Yield the URLs with `rel=micropub` in a Link header (RFC 8288)."""
    # Bound the work on an untrusted header.
    for piece in link[:16_384].split("<")[1:]:
        url, _, rest = piece.partition(">")
        if any("micropub" in match[1].lower().split() for match in _REL.finditer(rest)):
            yield url.strip()


def _links_in_page(text: str) -> Iterator[str]:
    """Yield the URLs with `rel=micropub` in a page."""
    for tag in iter_tags(text, "link", "a"):
        if "micropub" in tag.markup.lower():
            attributes = tag.read_attributes()
            if "micropub" in attributes.get("rel", "").lower().split() and "href" in attributes:
                yield attributes["href"]


def _parse_item(item: _Item) -> ListedPost:
    properties = item.properties
    return ListedPost(
        url=links.postable_url(item.url or _first_value(properties.get("url"))) or "",
        name=_first_value(properties.get("name")),
        content=_first_value(properties.get("content")),
        slug=_first_value(properties.get("mp-slug")) or _first_value(properties.get("slug")),
        published=_parse_time(_first_value(properties.get("published"))),
    )


def _first_value(values: object) -> str:
    """Return the first value of a property, which may be an object with HTML."""
    value = values[0] if isinstance(values, list) and values else values
    if isinstance(value, dict):
        value = value.get("html") or value.get("value")
    return value if isinstance(value, str) else ""


def _parse_time(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    # Without an offset it cannot be compared with the time of the request.
    return time if time.tzinfo is not None else None


def _collapse_spaces(html: str) -> str:
    return _SPACES.sub(" ", html).strip()


class _Config(msgspec.Struct, frozen=True, rename="kebab"):
    media_endpoint: str = ""


class Micropub:
    """A site with a Micropub endpoint."""

    info: ClassVar[PlatformInfo] = PLATFORMS["micropub"]

    def __init__(
        self, client: PlatformClient, credential_store: CredentialStore, *, clock: Callable[[], datetime]
    ) -> None:
        self._client = client
        self._credential_store = credential_store
        self._clock = clock

    def guarantees(self, account: Account) -> DeliveryGuarantees:
        """Return guarantees without idempotent keys and with a long settle time."""
        return DeliveryGuarantees(settle_time=SETTLE_TIME)

    def validate(self, post: Post, account: Account) -> Sequence[Problem]:
        """Return the reasons why the post would make no article."""
        return articles.validate_article(post)

    def render(self, post: Post, account: Account, seed: str) -> Intent:
        """Return one step that creates an h-entry. The server may ignore the suggested slug."""
        article = articles.article_from_post(post, seed)
        properties: dict[str, object] = {
            "name": [article.title],
            "content": [{"html": articles.render_markdown(article.text)}],
            "mp-slug": [article.slug],
        }
        if post.tags:
            properties["category"] = list(dict.fromkeys(post.tags))
        body: dict[str, object] = {"type": ["h-entry"], "properties": properties}
        return Intent(steps=(DeliveryStep(keys=(article.slug,), body=body),), at=post.at)

    async def connect(self, server: str, credentials: Mapping[str, str]) -> ConnectResult:
        """Return the account of the site at `server`, which may be a page or the endpoint itself."""
        address = parse_server_url(server)
        # A relative endpoint on the page resolves differently with and without the trailing slash.
        page = f"{address}/" if server.strip().endswith("/") else address
        secrets = {"token": credentials["token"].strip(), "endpoint": await self._find_endpoint(page)}
        account = Account(platform=self.info.name, server=address, id=address, name=site_name(address))
        await self._load_config(self._site(secrets))
        return ConnectResult(account=account, credentials=secrets)

    async def check(self, account: Account) -> Account:
        """Return the account unchanged if the endpoint still accepts the token."""
        await self._load_config(await self._open_site(account))
        return account

    async def send(
        self, account: Account, intent: Intent, completed: Sequence[StepResult], images: Sequence[PostImage] = ()
    ) -> StepResult:
        """Upload the images, then create the article."""
        site = await self._open_site(account)
        step = intent.steps[0]
        body = await self._with_images(site, step, images) if images else step.body
        response = await site.request("POST", json=body)
        if response.status not in (200, 201, 202):
            raise site.error_for_write(response)
        url = _location(site, response)
        return StepResult(ids=(url,), urls=link_urls(url))

    async def find_post(
        self, account: Account, intent: Intent, completed: Sequence[StepResult], since: datetime
    ) -> StepResult | None:
        """Return the article from the list of posts, as far as that reaches back to `since`."""
        site = await self._open_site(account)
        params = {"q": "source", "limit": str(PAGE_SIZE)}
        for _ in range(MAX_PAGES):
            page = await self._load_page(site, params)
            if page is None:
                if "after" not in params:
                    raise LookupUnsupportedError(f"{site.host} sent no list of its posts.", hint="Check your site.")
                break
            for item in page.items:
                if is_own_post(item, intent.steps[0], since) and item.url:
                    return StepResult(ids=(item.url,), urls=link_urls(item.url), evidence=Evidence.READ_BACK)
            if reaches_back(page.items, since):
                return None
            if not page.paging.after:
                break
            params["after"] = page.paging.after
        raise UnknownOutcomeError(
            f"The post list of {site.host} does not show whether the article exists.", hint="Check your site."
        )

    async def delete(self, account: Account, result: StepResult) -> None:
        """Ask the site to delete the article."""
        site = await self._open_site(account)
        for url in result.ids:
            response = await site.request("POST", json={"action": "delete", "url": url})
            if not response.is_success and response.status not in (404, 410):
                raise site.error_for_write(response)

    async def metrics(self, account: Account, ids: Sequence[str]) -> Mapping[str, PostMetrics | None]:
        """Return empty metrics: sites report none.

        Deleted articles are None, judged by their URL and without the token.
        """
        return {url: None if await self._is_deleted(url) else PostMetrics() for url in ids}

    async def _is_deleted(self, url: str) -> bool:
        # The stored URL may point to any host, so it gets no token.
        response = await as_repeatable(self._client.request("GET", url, headers={"accept": "text/html"}))
        return response.status in (404, 410)

    async def _load_page(self, site: Site, params: Mapping[str, str]) -> Page | None:
        """Return a page of the list, or None if the response is no list."""
        # Servers without the extension answer with any of these.
        listing = await site.get_or_none("", SourceResponse, params=params, missing=frozenset({400, 404, 501}))
        return None if listing is None or listing.items is None else Page.from_response(listing)

    async def _with_images(self, site: Site, step: DeliveryStep, images: Sequence[PostImage]) -> dict[str, object]:
        endpoint = (await self._load_config(site)).media_endpoint
        if not endpoint:
            raise RefusedPostError(f"{site.host} does not accept images.", hint="Remove them from the draft.")
        # The configured URL may be relative to the endpoint.
        media = site.with_base(_absolute_url(site.base, endpoint))
        photos = [{"value": await _upload(media, image, step.keys[0]), "alt": image.alt} for image in images]
        properties = step.body["properties"]
        assert isinstance(properties, dict)
        return {**step.body, "properties": {**properties, "photo": photos}}

    async def _load_config(self, site: Site) -> _Config:
        """Return the server's configuration. A server without one has at least verified the token."""
        config = await site.get_or_none("", _Config, params={"q": "config"}, missing=frozenset({400, 404, 501}))
        return config or _Config()

    async def _find_endpoint(self, page: str) -> str:
        """Return the endpoint that the page names, else the page itself if it is no HTML page.

        The request carries no token: not every page may see it.
        """
        response = await as_repeatable(self._client.request("GET", page, headers={"accept": "text/html, */*;q=0.1"}))
        endpoint = find_endpoint(response, page)
        if endpoint is not None:
            # Validate the endpoint like a URL that the user entered: it will receive the token.
            parse_server_url(endpoint.partition("?")[0])
            return endpoint
        if response.is_success and "html" in response.headers.get("content-type", "").lower():
            raise RefusedPostError("No Micropub endpoint found on the page.", hint="Use the endpoint's own address.")
        return page

    async def _open_site(self, account: Account) -> Site:
        return self._site(await self._credential_store.read(account))

    def _site(self, secrets: Mapping[str, str]) -> Site:
        headers = {"authorization": f"Bearer {require_credential(secrets, 'token')}"}
        return Site(self._client, require_credential(secrets, "endpoint"), headers, self._clock)


async def _upload(media: Site, image: PostImage, stem: str) -> str:
    """Upload an image and return its URL."""
    content_type, content = encode_form_with_image({}, image, image_file_name(image, stem))
    response = await media.post_prerequisite("", content=content, headers={"content-type": content_type})
    if not response.is_success:
        raise media.error_for_prerequisite(response)
    try:
        return _location(media, response)
    except UnknownOutcomeError as error:
        raise NotSentError(error.message) from None


def _location(site: Site, response: Response) -> str:
    """Return the URL in the Location header. Raise `UnknownOutcomeError` if there is none."""
    url = _absolute_url(site.base, location(response.headers))
    if not url:
        raise UnknownOutcomeError(f"{site.host} accepted the post but did not return its address.")
    return url


def _absolute_url(base: str, url: str) -> str:
    """Return `url` as an absolute URL; empty if it is invalid."""
    try:
        return links.postable_url(urljoin(base, url.strip())) or "" if url.strip() else ""
    except ValueError:
        return ""
