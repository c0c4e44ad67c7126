"""Images: uploads that drafts refer to."""

from copydesk.http.call import Call
from copydesk.http.operations import Operations
from copydesk.model.serialization import Struct
from copydesk.model.token import Scope

operations = Operations("Images")
MAX_UPLOAD = 20 * 2**20 + 2**16
"""Bytes of the whole body: the largest image, and what multipart adds."""


class StoredImage(Struct, frozen=True):
    """An uploaded image."""

    url: str
    """Address for an image with the source UPLOAD in `POST /drafts`."""


@operations.add(
    "POST", "/images", scope=Scope.DRAFT, upload="file", max_body=MAX_UPLOAD, response=StoredImage, status=201
)
async def upload_image(call: Call) -> StoredImage:
    """Store a JPEG, PNG, GIF or WebP image of up to 20 MB, which drafts may refer to.

    An image that no draft refers to is deleted after some days.
    """
    return StoredImage(url=await call.desk.drafts.images.save_content(call.body))
