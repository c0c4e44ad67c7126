"""Encode a form with one file as multipart/form-data (RFC 7578)."""

from collections.abc import Mapping
from hashlib import sha256

from copydesk.posting.platform import Picture

_EXTENSIONS = {"image/jpeg": "jpg", "image/png": "png", "image/gif": "gif", "image/webp": "webp"}


def file_name(picture: Picture, stem: str) -> str:
    """Return `stem` with the file extension of the image's media type."""
    return f"{stem}.{_EXTENSIONS.get(picture.media_type, 'bin')}"


def form_with_file(fields: Mapping[str, str], picture: Picture, name: str) -> tuple[str, bytes]:
    """Return the content type and the body of a form with `fields` and the image as its `file` field, named `name`.

    The result is deterministic: the boundary is a hash of the content, so the content cannot contain it.
    """
    boundary = f"copydesk-{sha256(picture.content).hexdigest()[:32]}"
    sections = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'
        for field, value in fields.items()
    ]
    sections.append(
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        f"Content-Type: {picture.media_type}\r\n\r\n"
    )
    body = "".join(sections).encode() + picture.content + f"\r\n--{boundary}--\r\n".encode()
    return f"multipart/form-data; boundary={boundary}", body
