"""Client for image generators that implement OpenAI's images endpoint, as many servers do.

A request creates one image and costs money, so it is never retried automatically. Errors never contain the API key.
"""

import base64
import binascii
from datetime import datetime

import httpx
import msgspec

from copydesk.errors import FetchError, ImageError
from copydesk.images.download import USER_AGENT, fetch, to_image_error
from copydesk.images.storage import MAX_BYTES, validate_format
from copydesk.model.serialization import Struct
from copydesk.network.addresses import is_local_host
from copydesk.network.client import BASE_HEADERS, HttpResponse, host_name, host_of, new_request, send
from copydesk.network.response import retry_after, status_phrase
from copydesk.text import clean
from copydesk.text.redaction import DEFAULT_REDACTION

MAX_RESPONSE_BYTES = MAX_BYTES * 4 // 3 + 2**20
"""Bytes of a response: an image in base64, plus the JSON around it."""
MAX_PROMPT_LENGTH = 5_000
MAX_SERVER_MESSAGE = 300
"""Characters of the generator's own message in an error."""


class Generator(Struct, frozen=True):
    """An image generator as configured in the settings section `section`."""

    section: str
    base_url: str
    model: str
    key: str = ""
    """API key; empty for servers that need none."""
    size: str = "1024x1024"
    timeout: float = 120.0
    """Timeout for the whole response."""

    # msgspec's own repr would print the API key into tracebacks.
    def __repr__(self) -> str:
        return f"Generator({self.section}, {self.model})"


class _GeneratedImage(msgspec.Struct):
    b64_json: str | None = None
    url: str | None = None


class _ImagesResponse(msgspec.Struct):
    data: list[_GeneratedImage] = []


class _ErrorDetail(msgspec.Struct):
    message: str = ""


class _ErrorResponse(msgspec.Struct):
    error: _ErrorDetail | str = ""


async def generate(
    transport: httpx.AsyncBaseTransport,
    generator: Generator,
    prompt: str,
    *,
    now: datetime,
    user_agent: str = USER_AGENT,
) -> bytes:
    """Return the image that `generator` creates for `prompt`, in an accepted format, at most `MAX_BYTES`.

    Raise ImageError; its `is_temporary` is True if the same request may succeed another time.
    """
    prompt = prompt.strip()
    if not 0 < len(prompt) <= MAX_PROMPT_LENGTH:
        raise ImageError(f"An image prompt takes 1 to {MAX_PROMPT_LENGTH:,} characters.")
    response = await _request_image(transport, generator, prompt, user_agent)
    if response.status != 200:
        raise _error_for_status(response, generator, now)
    image = _parse_response(response, generator)
    content = _decode_base64(image.b64_json, generator) if image.b64_json else None
    if content is None:
        # Some servers return a URL in place of the image.
        content = await fetch(transport, image.url or "", now=now, user_agent=user_agent)
    validate_format(content)
    return content


async def _request_image(
    transport: httpx.AsyncBaseTransport, generator: Generator, prompt: str, agent: str
) -> HttpResponse:
    url = validate_base_url(generator).join("images/generations")
    body = {"model": generator.model, "prompt": prompt, "size": generator.size, "n": 1}
    headers = {
        **BASE_HEADERS,
        "user-agent": agent,
        "accept": "application/json",
        "content-type": "application/json",
    }
    if generator.key:
        DEFAULT_REDACTION.add(generator.key)
        headers["authorization"] = f"Bearer {generator.key}"
    request = new_request("POST", url, headers=headers, content=msgspec.json.encode(body))
    try:
        return await send(transport, request, max_body=MAX_RESPONSE_BYTES, timeout_seconds=generator.timeout)
    except FetchError as error:
        failure = to_image_error(error)
        should_retry = failure.is_temporary and not error.not_sent
        hint = "Try again later." if should_retry else _base_url_hint(generator)
        raise ImageError(failure.message, hint=hint, is_temporary=failure.is_temporary) from None


def _base_url_hint(generator: Generator) -> str:
    return (
        f"Check {generator.section}.base_url; for a generator on this machine or its network set network.allow_private."
    )


def validate_base_url(generator: Generator) -> httpx.URL:
    """Return the base URL with a trailing slash. Raise ImageError if the settings are incomplete or invalid."""
    for name in ("base_url", "model"):
        if not getattr(generator, name):
            raise ImageError(
                f"{generator.section}.{name} is not set; cannot generate images.",
                hint=f"Set it in [{generator.section}] of the settings, and the key in {_key_variable(generator)}.",
            )
    error = ImageError(
        f"{generator.section}.base_url is not a valid address.",
        hint="Use an address such as https://api.example.com/v1; http only for this machine and its network.",
    )
    try:
        # With a slash at the end `join` appends; without one it would replace the last segment.
        url = httpx.URL(generator.base_url.rstrip("/") + "/")
    except httpx.InvalidURL:
        raise error from None
    if url.userinfo or url.query or url.fragment or not url.raw_host or url.scheme not in ("https", "http"):
        raise error
    # Over plain HTTP the API key would be readable on the way.
    if url.scheme == "http" and not is_local_host(host_name(url)):
        raise error
    return url


def _parse_response(response: HttpResponse, generator: Generator) -> _GeneratedImage:
    """Return the first image of the response."""
    try:
        images = msgspec.json.decode(response.body, type=_ImagesResponse).data
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        images = []
    if not images or not (images[0].b64_json or images[0].url):
        raise ImageError(
            f"{_host(generator)} returned no image.", hint=f"Check {generator.section}.base_url and model."
        )
    return images[0]


def _decode_base64(encoded: str, generator: Generator) -> bytes:
    try:
        # By default Python skips characters outside of the alphabet, which hides damage.
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise ImageError(f"{_host(generator)} returned a damaged image.", is_temporary=True) from None


def _error_for_status(response: HttpResponse, generator: Generator, now: datetime) -> ImageError:
    """Return the error for a status other than 200.

    On 401 and 403 the server's own message is left out, because it may quote the API key.
    """
    host, section = _host(generator), generator.section
    if response.status in (401, 403):
        return ImageError(
            f"{host} rejected the key ({status_phrase(response.status)}).",
            hint=f"Set {_key_variable(generator)} to a valid key.",
        )
    later = response.status in (408, 409, 425, 429) or response.status >= 500
    server_message = _server_message(response)
    message = (
        f"{host} says: {server_message}"
        if server_message
        else f"{host} answered with {status_phrase(response.status)}."
    )
    if later:
        return ImageError(
            message, hint="Try again later.", is_temporary=True, retry_after=retry_after(response.headers, now)
        )
    if response.status == 404:
        return ImageError(
            message, hint=f"The model {generator.model} may be gone: check {section}.model and {section}.base_url."
        )
    return ImageError(message, hint=f"Change the prompt, or check {section}.model and {section}.size.")


def _server_message(response: HttpResponse) -> str:
    """Return the generator's error message as one line without credentials; empty if there is none."""
    try:
        error = msgspec.json.decode(response.body, type=_ErrorResponse).error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""
    # Some servers quote the request, and the message ends up in logs and on the screen.
    text = DEFAULT_REDACTION.redact(clean(error if isinstance(error, str) else error.message)).strip()
    return text if len(text) <= MAX_SERVER_MESSAGE else text[: MAX_SERVER_MESSAGE - 1] + "…"


def _host(generator: Generator) -> str:
    return host_of(validate_base_url(generator))


def _key_variable(generator: Generator) -> str:
    return f"COPYDESK_{generator.section.upper()}__KEY"
