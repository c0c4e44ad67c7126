"""A form with one file in it, as it goes over the wire (RFC 7578)."""

from collections.abc import Mapping
from hashlib import sha256

from copydesk.posting.platform import Picture

_ENDINGS = {"image/jpeg": "jpg", "image/png": "png", "image/gif": "gif", "image/webp": "webp"}


def file_name(picture: Picture, stem: str) -> str:
    """A name for the file of `picture`."""
    return f"{stem}.{_ENDINGS.get(picture.media_type, 'bin')}"


def form_with_file(fields: Mapping[str, str], picture: Picture, name: str) -> tuple[str, bytes]:
    """The content type and the body of a form with `fields` and, as its `file`, `picture` under `name`.

    The same form is the same bytes: its boundary follows from the content, which therefore cannot hold it.
    """
    boundary = f"copydesk-{sha256(picture.content).hexdigest()[:32]}"
    lines = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'
        for field, value in fields.items()
    ]
    lines.append(
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        f"Content-Type: {picture.media_type}\r\n\r\n"
    )
    body = "".join(lines).encode() + picture.content + f"\r\n--{boundary}--\r\n".encode()
    return f"multipart/form-data; boundary={boundary}", body
