"""Has a picture made by an image generator that speaks OpenAI's images endpoint, as many servers do by now.

One request makes one picture and costs money: it is never repeated by itself. No key is in an error.
"""

import asyncio
import base64
import binascii
from datetime import datetime
from ipaddress import ip_address

import httpx
import msgspec

from copydesk.errors import FetchError
from copydesk.model.wire import Struct
from copydesk.network.headers import named, retry_after
from copydesk.network.public import is_public
from copydesk.network.transport import FAILURES, failure
from copydesk.pictures.errors import PictureError
from copydesk.pictures.fetch import AGENT, Got, exchange, fetch, in_our_words, place
from copydesk.pictures.kind import MOST_BYTES, checked_kind
from copydesk.text import clean

MOST_ANSWER = MOST_BYTES * 4 // 3 + 2**20
"""Bytes: a picture in base64, and what stands around it."""
LONGEST_PROMPT = 5_000
LONGEST_SAYING = 300
"""Characters of the generator's own words in an error."""


class Generator(Struct, frozen=True):
    """An image generator, as the settings of `section` have it."""

    section: str
    base_url: str
    model: str
    key: str = ""
    """Empty for one that asks for none."""
    size: str = "1024x1024"
    seconds: float = 120.0
    """Until the whole of the answer is there."""

    def __repr__(self) -> str:
        return f"Generator({self.section}, {self.model})"


class _Made(msgspec.Struct):
    b64_json: str | None = None
    url: str | None = None


class _Answer(msgspec.Struct):
    data: list[_Made] = []


class _Problem(msgspec.Struct):
    message: str = ""


class _Refusal(msgspec.Struct):
    error: _Problem | str = ""


async def generate(
    transport: httpx.AsyncBaseTransport, generator: Generator, prompt: str, *, now: datetime, agent: str = AGENT
) -> bytes:
    """The picture that `generator` makes of `prompt`: of one of the kinds that are read, at most MOST_BYTES.

    Raises PictureError; `later` where the same may work another time.
    """
    prompt = prompt.strip()
    if not 0 < len(prompt) <= LONGEST_PROMPT:
        raise PictureError(f"A picture is made of 1 to {LONGEST_PROMPT:,} characters that say what it shows.")
    got = await _asked(transport, generator, prompt, agent)
    if got.status != 200:
        raise _refusal(got, generator, now)
    made = _made(got, generator)
    content = _unpacked(made.b64_json, generator) if made.b64_json else None
    if content is None:
        content = await fetch(transport, made.url or "", now=now, agent=agent)
    checked_kind(content)
    return content


async def _asked(transport: httpx.AsyncBaseTransport, generator: Generator, prompt: str, agent: str) -> Got:
    url = checked_base(generator).join("images/generations")
    asked = {"model": generator.model, "prompt": prompt, "size": generator.size, "n": 1}
    headers = {
        "user-agent": agent,
        "accept": "application/json",
        "accept-encoding": "gzip, deflate",
        "content-type": "application/json",
    }
    if generator.key:
        headers["authorization"] = f"Bearer {generator.key}"
    request = httpx.Request("POST", url, headers=headers, content=msgspec.json.encode(asked))
    # Raised outside of the handlers: an error must not keep the request, and the key in it, as its context.
    try:
        async with asyncio.timeout(generator.seconds):
            return await exchange(transport, request, most=MOST_ANSWER)
    except FAILURES as error:
        problem = PictureError(failure(error, place(url)).message, hint="Try again later.", later=True)
    except FetchError as error:
        found = in_our_words(error)
        problem = PictureError(found.message, hint=_check_base(generator), later=found.later)
    raise problem


def _check_base(generator: Generator) -> str:
    return (
        f"Check {generator.section}.base_url; for a generator on this machine or its network set network.allow_private."
    )


def checked_base(generator: Generator) -> httpx.URL:
    """The address that requests begin with, with a slash at its end; PictureError where the settings are not enough."""
    for name in ("base_url", "model"):
        if not getattr(generator, name):
            raise PictureError(
                f"{generator.section}.{name} is not set, so no picture can be made.",
                hint=f"Set it in [{generator.section}] of the settings, and the key in {_variable(generator)}.",
            )
    wrong = PictureError(
        f"{generator.section}.base_url is not an address that can be used.",
        hint="It takes one like https://api.example.com/v1; http for this machine and its network only.",
    )
    try:
        url = httpx.URL(generator.base_url.rstrip("/") + "/")
    except httpx.InvalidURL:
        raise wrong from None
    near = url.host == "localhost" or _is_near(url.host)
    if url.userinfo or url.query or url.fragment or not url.host or url.scheme not in ("https", "http"):
        raise wrong
    if url.scheme == "http" and not near:
        raise wrong
    return url


def _is_near(host: str) -> bool:
    """Whether `host` is an address of this machine or its network."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return not is_public(host)


def _made(got: Got, generator: Generator) -> _Made:
    """What the answer holds."""
    try:
        every = msgspec.json.decode(got.body, type=_Answer).data
    except (msgspec.MsgspecError, UnicodeDecodeError):
        every = []
    if not every or not (every[0].b64_json or every[0].url):
        raise PictureError(
            f"{_host(generator)} answered without a picture.", hint=f"Check {generator.section}.base_url and model."
        )
    return every[0]


def _unpacked(text: str, generator: Generator) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise PictureError(f"{_host(generator)} answered with a picture that is damaged.", later=True) from None


def _refusal(got: Got, generator: Generator, now: datetime) -> PictureError:
    """What a status means that is no success. Of keys a server's own words may quote the key."""
    host, section = _host(generator), generator.section
    if got.status in (401, 403):
        return PictureError(
            f"{host} does not take the key ({named(got.status)}).",
            hint=f"Set {_variable(generator)} to one that it does.",
        )
    later = got.status in (408, 409, 425, 429) or got.status >= 500
    says = _said(got, generator)
    what = f"{host} says: {says}" if says else f"{host} answered with {named(got.status)}."
    if later:
        return PictureError(what, hint="Try again later.", later=True, retry_after=retry_after(got.headers, now))
    if got.status == 404:
        return PictureError(
            what, hint=f"The model {generator.model} may be gone: check {section}.model and {section}.base_url."
        )
    return PictureError(what, hint=f"Ask for something else, or check {section}.model and {section}.size.")


def _said(got: Got, generator: Generator) -> str:
    """The generator's own words, fit for one line of ours."""
    try:
        error = msgspec.json.decode(got.body, type=_Refusal).error
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""
    text = clean(error if isinstance(error, str) else error.message).strip()
    text = text.replace(generator.key, "•••") if generator.key else text
    return text if len(text) <= LONGEST_SAYING else text[: LONGEST_SAYING - 1] + "…"


def _host(generator: Generator) -> str:
    return place(checked_base(generator))


def _variable(generator: Generator) -> str:
    return f"COPYDESK_{generator.section.upper()}__KEY"
