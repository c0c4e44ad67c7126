"""Encode a form with one file as multipart/form-data (RFC 7578)."""

from collections.abc import Mapping
from hashlib import sha256

from copydesk.posting.platform import PostImage

_EXTENSIONS = {"image/jpeg": "jpg", "image/png": "png", "image/gif": "gif", "image/webp": "webp"}


def image_file_name(image: PostImage, stem: str) -> str:
    """Return `stem` with the file extension of the image's media type."""
    return f"{stem}.{_EXTENSIONS.get(image.media_type, 'bin')}"


def encode_form_with_image(fields: Mapping[str, str], image: PostImage, name: str) -> tuple[str, bytes]:
    """Return the content type and the body of a form with `fields` and the image as its `file` field, named `name`.

    The result is deterministic: the boundary is a hash of the content, so the content cannot contain it.
    """
    boundary = f"copydesk-{sha256(image.content).hexdigest()[:32]}"
    sections = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'
        for field, value in fields.items()
    ]
    sections.append(
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        f"Content-Type: {image.media_type}\r\n\r\n"
    )
    body = "".join(sections).encode() + image.content + f"\r\n--{boundary}--\r\n".encode()
    return f"multipart/form-data; boundary={boundary}", body
