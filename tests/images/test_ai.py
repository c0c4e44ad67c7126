"""Tests for generating images: one request, and neither key nor prompt leaks."""

import asyncio
import base64
import json
import traceback
from collections.abc import Callable

import httpx
import pytest

from copydesk.errors import ImageError
from copydesk.images.generator import Generator, generate
from copydesk.images.storage import MAX_BYTES
from fetcher_fixtures import NOW
from image_samples import drawing

KEY = "sk-planted-0123456789"
PICTURE = drawing()
GENERATOR = Generator(section="images_a", base_url="https://ai.example/v1", model="painter-2", key=KEY)
OTHER_GENERATOR = Generator(section="images_b", base_url="http://127.0.0.1:8080/", model="local", size="512x512")
ResponseHandler = Callable[[httpx.Request], httpx.Response]


def image_response(content: bytes) -> dict[str, object]:
    return {"created": 1, "data": [{"b64_json": base64.b64encode(content).decode()}], "usage": {"total_tokens": 9}}


class FakeImageApi(httpx.AsyncBaseTransport):
    """Responds as configured and records its requests."""

    def __init__(self, body: object = None, status: int = 200, **headers: str) -> None:
        self.requests: list[httpx.Request] = []
        self._body = (
            body if isinstance(body, bytes) else json.dumps(image_response(PICTURE) if body is None else body).encode()
        )
        self._status, self._headers = status, {name.replace("_", "-"): value for name, value in headers.items()}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        self.requests.append(request)
        if request.method == "GET":
            return httpx.Response(200, stream=httpx.ByteStream(PICTURE))
        return httpx.Response(self._status, headers=self._headers, stream=httpx.ByteStream(self._body))


async def test_image_is_requested_once():
    api = FakeImageApi()
    assert await generate(api, GENERATOR, " A crane ", now=NOW, user_agent="Me/1") == PICTURE

    (request,) = api.requests
    assert (request.method, str(request.url)) == ("POST", "https://ai.example/v1/images/generations")
    assert json.loads(request.content) == {"model": "painter-2", "prompt": "A crane", "size": "1024x1024", "n": 1}
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["user-agent"] == "Me/1"


async def test_second_generator_has_own_settings_and_no_key():
    api = FakeImageApi()
    await generate(api, OTHER_GENERATOR, "A crane", now=NOW)

    (request,) = api.requests
    assert str(request.url) == "http://127.0.0.1:8080/images/generations"
    assert json.loads(request.content)["size"] == "512x512"
    assert "authorization" not in request.headers


async def test_image_url_is_fetched_without_key():
    api = FakeImageApi({"data": [{"url": "https://cdn.example/made.png?sig=x"}]})
    assert await generate(api, GENERATOR, "A crane", now=NOW) == PICTURE

    assert [str(request.url.host) for request in api.requests] == ["ai.example", "cdn.example"]
    assert "authorization" not in api.requests[1].headers


@pytest.mark.parametrize("url", ["file:///etc/passwd", "", "data:image/png;base64,AAAA", "https://me:x@cdn.example/"])
async def test_image_url_must_be_web_address(url):
    with pytest.raises(ImageError):
        await generate(FakeImageApi({"data": [{"url": url}]}), GENERATOR, "A crane", now=NOW)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "returned no image"),
        (b"\xff\xfe", "returned no image"),
        ({"data": []}, "returned no image"),
        ({"data": [{}]}, "returned no image"),
        ({"data": "x"}, "returned no image"),
        ([1], "returned no image"),
        ({"data": [{"b64_json": "!!!!"}]}, "damaged"),
        ({"data": [{"b64_json": "AA"}]}, "damaged"),
        (image_response(b"<html>Sorry</html>"), "web page"),
        (image_response(b"<svg/>"), "SVG"),
        (image_response(PICTURE.ljust(MAX_BYTES + 1, b"\0")), "larger than 20 MB"),
        (b"[" * 100_000, "returned no image"),
        (b'{"unknown": ' + b"[" * 100_000, "returned no image"),
        (b" " * (MAX_BYTES * 2), "larger than 20 MB"),
    ],
    ids=range(14),
)
async def test_response_without_image_is_an_error(body, message):
    with pytest.raises(ImageError, match=message):
        await generate(FakeImageApi(body), GENERATOR, "A crane", now=NOW)


ERROR_BODY = {"error": {"message": f"Your request was rejected by the safety system. {KEY} \x1b[31m", "code": "x"}}


@pytest.mark.parametrize(
    ("status", "message", "hint", "later"),
    [
        (400, "rejected by the safety system", "Change the prompt", False),
        (401, "rejected the key", "COPYDESK_IMAGES_A__KEY", False),
        (403, "rejected the key", "COPYDESK_IMAGES_A__KEY", False),
        (404, "rejected", "painter-2 may be gone", False),
        (302, "rejected|status 302", "Change the prompt", False),
        (429, "rejected", "later", True),
        (500, "rejected", "later", True),
    ],
)
async def test_status_maps_to_error_and_hint(status, message, hint, later):
    api = FakeImageApi(ERROR_BODY, status, location="https://elsewhere.example/", retry_after="60")
    with pytest.raises(ImageError, match=message) as refused:
        await generate(api, GENERATOR, "A crane", now=NOW)

    assert hint in refused.value.hint
    assert (refused.value.is_temporary, refused.value.retry_after) == (later, 60 if later else None)
    assert "\x1b" not in str(refused.value)
    assert len(api.requests) == 1


@pytest.mark.parametrize(
    "body", [ERROR_BODY, {"error": KEY}, {"error": {"message": "x" * 10_000 + KEY}}, KEY.encode(), b"\xff"]
)
@pytest.mark.parametrize("status", [200, 400, 401, 404, 429, 500])
async def test_key_is_in_no_error(body, status):
    with pytest.raises(ImageError) as refused:
        await generate(FakeImageApi(body, status), GENERATOR, "A crane", now=NOW)
    assert_no_secret(refused.value)


def break_connection(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadError(f"cut {request.headers}", request=request)


def refuse_connection(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("no", request=request)


@pytest.mark.parametrize("broken", [break_connection, refuse_connection])
async def test_key_is_in_no_connection_error(broken):
    with pytest.raises(ImageError) as refused:
        await generate(httpx.MockTransport(broken), GENERATOR, "A crane", now=NOW)
    assert refused.value.is_temporary
    assert_no_secret(refused.value)


def assert_no_secret(error: ImageError) -> None:
    link: BaseException | None = error
    while link is not None:
        assert not hasattr(link, "request")
        assert KEY not in f"{link} {link!r} {vars(link)}"
        link = link.__cause__ or link.__context__
    assert KEY not in "".join(traceback.format_exception(error))
    assert KEY not in repr(GENERATOR)


async def test_slow_generator_times_out():
    async def never(_: httpx.Request) -> httpx.Response:
        await asyncio.sleep(60)
        raise AssertionError

    quick = Generator(section="images_a", base_url=GENERATOR.base_url, model="painter-2", key=KEY, timeout=0.05)
    with pytest.raises(ImageError, match="did not respond in time"):
        await generate(httpx.MockTransport(never), quick, "A crane", now=NOW)


@pytest.mark.parametrize(
    ("base_url", "model", "message"),
    [
        ("", "m", "images_a.base_url is not set"),
        ("https://ai.example", "", "images_a.model is not set"),
        ("http://ai.example/v1", "m", "not a valid address"),
        ("http://1.1.1.1/v1", "m", "not a valid address"),
        ("ftp://ai.example", "m", "not a valid address"),
        ("ai.example/v1", "m", "not a valid address"),
        ("https://me:x@ai.example", "m", "not a valid address"),
        ("https://ai.example/v1?key=x", "m", "not a valid address"),
        ("https://ai.example/#x", "m", "not a valid address"),
        ("https://", "m", "not a valid address"),
    ],
)
async def test_incomplete_settings_are_reported_and_nothing_is_sent(base_url, model, message):
    api = FakeImageApi()
    with pytest.raises(ImageError, match=message) as refused:
        await generate(api, Generator(section="images_a", base_url=base_url, model=model), "A crane", now=NOW)
    assert refused.value.hint
    assert api.requests == []


@pytest.mark.parametrize("prompt", ["", "  \n", "x" * 5_001])
async def test_prompt_length_is_checked(prompt):
    api = FakeImageApi()
    with pytest.raises(ImageError, match="1 to 5,000 characters"):
        await generate(api, GENERATOR, prompt, now=NOW)
    assert api.requests == []
