"""Tests for the platform client: which failures certainly changed nothing, and which have an unknown outcome."""

import asyncio
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from hashlib import sha256

import httpx
import pytest

from copydesk.errors import PrivateAddressError
from copydesk.posting.client import (
    MAX_ERROR_BODY,
    PlatformClient,
    Response,
    encode_form_with_image,
    error_for_read,
    error_for_write,
    image_file_name,
    retry_at,
    sent_credentials,
)
from copydesk.posting.platform import LoginError, NotSentError, PostImage, RefusedPostError, UnknownOutcomeError
from copydesk.text.redaction import MASK

NOW = datetime(2026, 2, 10, 9, 0, tzinfo=UTC)
URL = "https://social.example/api"
TOKEN = "cd-planted-token"


def make_client(handler) -> PlatformClient:
    return PlatformClient(httpx.MockTransport(handler), timeout=1)


def raise_error(error: Exception):
    def answer(request: httpx.Request) -> httpx.Response:
        raise error

    return answer


def make_response(status: int, **headers: str) -> Response:
    return Response(status=status, headers={name.replace("_", "-"): value for name, value in headers.items()}, body=b"")


async def test_request_is_sent_unchanged():
    received: list[httpx.Request] = []

    def respond(request: httpx.Request) -> httpx.Response:
        received.append(request)
        return httpx.Response(201, json={"id": "1"})

    response = await make_client(respond).request(
        "POST", URL, json={"text": "Héllo"}, params={"a": "b c"}, headers={"x-key": "k"}
    )
    assert (response.status, response.is_success, response.decode(dict[str, str])) == (201, True, {"id": "1"})
    assert str(received[0].url) == f"{URL}?a=b+c"
    assert (received[0].content, received[0].headers["x-key"]) == ('{"text":"Héllo"}'.encode(), "k")


@pytest.mark.parametrize(
    "error",
    [
        httpx.ConnectError("refused"),
        httpx.ConnectTimeout("slow"),
        PrivateAddressError("10.0.0.1 is not a public address."),
    ],
)
async def test_failed_connection_sends_nothing(error):
    with pytest.raises(NotSentError):
        await make_client(raise_error(error)).request("POST", URL)


async def test_connection_timeout_is_no_matter_of_setting():
    with pytest.raises(NotSentError) as caught:
        await make_client(raise_error(httpx.ConnectTimeout("slow"))).request("POST", URL)
    assert str(caught.value) == "social.example did not respond in time. Check your internet connection."


@pytest.mark.parametrize(
    "error",
    [
        httpx.ReadTimeout("slow"),
        httpx.WriteError("cut"),
        httpx.ReadError("cut"),
        httpx.RemoteProtocolError("half an answer"),
        ConnectionResetError(104, "reset"),
        TimeoutError(),
    ],
)
async def test_broken_connection_has_unknown_outcome(error):
    with pytest.raises(UnknownOutcomeError):
        await make_client(raise_error(error)).request("POST", URL)


async def test_oversized_response_has_unknown_outcome():
    with pytest.raises(UnknownOutcomeError, match="larger than 4 MB"):
        await make_client(lambda _: httpx.Response(200, content=b"x" * (4 * 2**20 + 1))).request("GET", URL)


async def test_unreadable_response_has_unknown_outcome():
    for body in (b"<html>", b"[1]", b"\xff"):
        with pytest.raises(UnknownOutcomeError):
            Response(status=200, headers={}, body=body).decode(dict[str, str])


def test_deeply_nested_response_is_unreadable():
    response = Response(status=200, headers={}, body=b'{"x": ' + b"[" * 20_000 + b"]" * 20_000 + b"}")
    with pytest.raises(UnknownOutcomeError):
        response.decode(dict[str, object])
    assert response.decode_or({"message": ""}) == {"message": ""}


async def test_header_with_line_break_is_not_sent():
    with pytest.raises(NotSentError):
        await make_client(lambda _: httpx.Response(200)).request("GET", URL, headers={"authorization": "a\r\nx: y"})


async def test_errors_do_not_contain_token():
    for error in (httpx.ReadError("cut"), httpx.ConnectError("refused")):
        with pytest.raises((UnknownOutcomeError, NotSentError)) as caught:
            await make_client(raise_error(error)).request("POST", URL, headers={"authorization": f"Bearer {TOKEN}"})
        descriptions, error_in_chain = [], caught.value
        while error_in_chain is not None:
            descriptions.append(repr(vars(error_in_chain)) + str(error_in_chain))
            error_in_chain = error_in_chain.__cause__ or error_in_chain.__context__
        assert TOKEN not in "".join(descriptions)
        assert len(descriptions) == 1


async def test_echoed_token_is_not_in_response():
    def echo(request: httpx.Request) -> httpx.Response:
        return httpx.Response(400, content=b"\xff" + request.headers["authorization"].encode())

    response = await make_client(echo).request("GET", URL, headers={"authorization": "Bearer cd-echoed/token"})
    assert response.body == "\xff".encode("latin-1") + f"Bearer {MASK}".encode()
    message = error_for_write(response, "x.example", NOW, explanation="y" * 290 + " cd-echoed/token").message
    assert "cd-echo" not in message


async def test_escaped_token_is_redacted_after_decoding():
    body = rb'{"error": "cd-esc\u0061ped-token"}'
    client = make_client(lambda _: httpx.Response(400, content=body))
    response = await client.request("POST", URL, json={"nested": [{"accessToken": "cd-escaped-token"}]})
    assert error_for_write(response, "x", NOW, explanation=response.decode(dict)["error"]).message == f"x says: {MASK}."


async def test_long_error_body_is_dropped():
    response = await make_client(lambda _: httpx.Response(500, content=b"x" * (MAX_ERROR_BODY + 1))).request("GET", URL)
    assert response.body == b""


async def test_basic_credentials_are_redacted_in_any_form():
    basic = b64encode(b"me:cd-basic password").decode()
    client = make_client(lambda request: httpx.Response(400, text=f"{basic} me:cd-basic password; cd-basic%20password"))
    response = await client.request("GET", URL, headers={"Authorization": f"Basic {basic}"})
    assert response.body.decode() == f"{MASK} {MASK}; {MASK}"


async def test_proxy_message_is_redacted():
    client = make_client(raise_error(httpx.ProxyError("407 for cd-proxied-token")))
    with pytest.raises(NotSentError) as caught:
        await client.request("GET", f"{URL}?access_token=cd-proxied-token")
    assert caught.value.message == f"The proxy cannot reach social.example: 407 for {MASK}."


def test_idempotency_key_is_no_credential():
    headers = {"idempotency-key": "1234567", "x-api-key": "7654321"}
    assert list(sent_credentials(URL, headers, {"code": "code-1", "status_code": "status"}, None)) == [
        "7654321",
        "code-1",
        "code-1",
    ]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        *[(status, RefusedPostError) for status in (400, 404, 413, 415, 422)],
        *[(status, LoginError) for status in (401, 403)],
        (429, NotSentError),
        *[(status, UnknownOutcomeError) for status in (301, 408, 409, 418, 500, 502, 503, 504)],
    ],
)
def test_write_status_maps_to_error(status, kind):
    assert type(error_for_write(make_response(status), "social.example", NOW)) is kind


def test_configured_status_is_not_login_error():
    assert (
        type(error_for_write(make_response(403), "x.example", NOW, login_statuses=frozenset({401}))) is RefusedPostError
    )


def test_failed_read_changes_nothing():
    assert type(error_for_read(make_response(500), "social.example", NOW)) is NotSentError
    assert type(error_for_read(make_response(401), "social.example", NOW)) is LoginError


def test_redirect_of_read_names_next_step():
    error = error_for_read(make_response(301, location="https://social.x.example/api"), "x.example", NOW)
    assert type(error) is NotSentError
    assert str(error) == "x.example redirects to https://social.x.example/api. Connect the account with that address."


def test_platform_message_is_cleaned_and_shortened():
    platform_text = "No.\x1b]0;pwned\x07\n" + "y" * 1000
    message = error_for_write(make_response(422), "social.example", NOW, explanation=platform_text).message
    assert "\x1b" not in message
    assert "\n" not in message
    assert len(message) < 330


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry_after": "60"}, 60),
        ({"ratelimit_reset": str(int(NOW.timestamp()) + 90)}, 90),
        ({"x_rate_limit_reset": str(int(NOW.timestamp()) + 120), "x_rate_limit_remaining": "0"}, 120),
        ({"ratelimit_reset": str(int(NOW.timestamp()) + 90), "ratelimit_remaining": "5"}, None),
        ({"ratelimit_reset": str(int(NOW.timestamp()) + 90), "ratelimit_remaining": "0"}, 90),
        ({}, None),
        ({"ratelimit_reset": "9" * 30}, None),
    ],
)
def test_retry_time_is_read_from_headers(headers, wait):
    expected = None if wait is None else NOW + timedelta(seconds=wait)
    assert retry_at(make_response(429, **headers).headers, NOW) == expected


async def test_endless_response_times_out():
    async def slow(request: httpx.Request) -> httpx.Response:
        raise TimeoutError

    with pytest.raises(UnknownOutcomeError):
        await PlatformClient(httpx.MockTransport(slow), timeout=0.01).request("POST", URL)


def parse_form(content_type: str, body: bytes) -> dict[str, tuple[str | None, str, bytes]]:
    """Return file name, media type and content of each field, parsed with the standard library."""
    message = message_from_bytes(f"content-type: {content_type}\r\n\r\n".encode() + body, policy=policy.HTTP)
    return {
        part.get_param("name", header="content-disposition"): (
            part.get_filename(),
            part.get_content_type(),
            part.get_payload(decode=True),
        )
        for part in message.iter_parts()
    }


IMAGE = PostImage(content=b"\x89PNG\r\n\r\n--copydesk-\xff", media_type="image/png", width=1, height=1, alt="")


@pytest.mark.parametrize("value", ["", "A crane", 'Zürich "and"\r\nline', "--copydesk-\r\n", "日本"])
def test_form_with_image_is_encoded(value):
    content_type, body = encode_form_with_image({"description": value}, IMAGE, image_file_name(IMAGE, "picture"))
    fields = parse_form(content_type, body)
    assert fields["description"][2].decode() == value
    assert fields["file"] == ("picture.png", "image/png", IMAGE.content)


def test_repeated_upload_is_byte_identical():
    """Recorded once: the bytes that servers have accepted. A change here is a change on the wire."""
    forms = [encode_form_with_image({"purpose": "image", "alt": "A crane"}, IMAGE, "picture.png") for _ in range(2)]
    assert forms[0] == forms[1]
    boundary = f"copydesk-{sha256(IMAGE.content).hexdigest()[:32]}"
    assert forms[0] == (
        f"multipart/form-data; boundary={boundary}",
        (
            f'--{boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nimage\r\n'
            f'--{boundary}\r\nContent-Disposition: form-data; name="alt"\r\n\r\nA crane\r\n'
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="picture.png"\r\n'
            "Content-Type: image/png\r\n\r\n"
        ).encode()
        + IMAGE.content
        + f"\r\n--{boundary}--\r\n".encode(),
    )


def test_file_name_cannot_add_a_header():
    content_type, body = encode_form_with_image({}, IMAGE, 'a"\r\nX-Evil: 1\r\n.png')
    assert b"\r\nX-Evil" not in body
    assert list(parse_form(content_type, body)) == ["file"]


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "sent", [b"", HEAD[:9], HEAD[:-2], HEAD + b"hell", CHUNKED, CHUNKED + b"5", CHUNKED + b"5\r\nhello\r\n"]
)
async def test_cut_connection_is_called_interrupted(sent):
    async def respond(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(sent)
        writer.close()

    async with await asyncio.start_server(respond, "127.0.0.1", 0) as server, httpx.AsyncHTTPTransport() as transport:
        host = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        with pytest.raises(UnknownOutcomeError, match=f"^The connection to {host} was interrupted.$"):
            await PlatformClient(transport, timeout=10).request("POST", f"http://{host}/")
