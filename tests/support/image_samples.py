"""Test images, harmless and hostile, generated identically every time.

photo(800, 600)                   # a JPEG that compresses poorly, like a photo
photo(80, 60, exif=gps_exif())    # with the place where it was taken
png_bomb()                        # a few kilobytes that decode to gigabytes
"""

import random
import struct
import zlib
from io import BytesIO

from PIL import Image, ImageCms
from PIL.PngImagePlugin import PngInfo

from copydesk.desk import Desk
from copydesk.images.storage import save, sniff
from copydesk.store import stored_images

LOCATION_MARKER = "GPS-52.5200N-13.4050E"
"""A marker in metadata that no image leaving Copydesk may contain."""


def noise_image(width: int, height: int, mode: str = "RGB") -> Image.Image:
    """Return an image of random pixels, the same every time."""
    return Image.frombytes(mode, (width, height), random.Random(1).randbytes(width * height * len(mode)))


def photo_like_image(width: int, height: int) -> Image.Image:
    """Return gradients with some grain, which compress like a photo."""
    small = noise_image(max(2, width // 16), max(2, height // 16)).resize((width, height), Image.Resampling.BICUBIC)
    return Image.blend(small, noise_image(width, height), 0.08)


def encode(image: Image.Image, format: str, **options: object) -> bytes:
    """Return the image encoded as a file in `format`."""
    out = BytesIO()
    image.save(out, format, **options)
    return out.getvalue()


def photo(width: int = 64, height: int = 48, **options: object) -> bytes:
    """Return a JPEG of `photo_like_image`."""
    return encode(photo_like_image(width, height), "JPEG", **options)


def drawing(width: int = 64, height: int = 48, **options: object) -> bytes:
    """Return a PNG of one colour with a line."""
    image = Image.new("RGB", (width, height), (250, 240, 200))
    image.paste((0, 0, 120), (0, height // 2, width, height // 2 + 1))
    return encode(image, "PNG", **options)


def animation(format: str = "GIF", frames: int = 3) -> bytes:
    """Return an animation: a red frame, then blue ones."""
    colours = ["red", *["blue"] * (frames - 1)]
    images = [Image.new("RGB", (20 + index, 20), colour).resize((20, 20)) for index, colour in enumerate(colours)]
    for index, frame in enumerate(images):
        frame.putpixel((index, 0), (0, 255, 0))
    return encode(images[0], format, save_all=True, append_images=images[1:], duration=100)


def gps_exif(orientation: int = 1) -> Image.Exif:
    """Return EXIF with GPS position, artist and orientation."""
    exif = Image.Exif()
    exif[0x0112], exif[0x010E], exif[0x013B] = orientation, LOCATION_MARKER, f"Artist {LOCATION_MARKER}"
    gps = exif.get_ifd(0x8825)
    gps[1], gps[2], gps[29] = "N", (52.0, 31.0, 12.0), LOCATION_MARKER
    return exif


def image_with_metadata(format: str) -> bytes:
    """Return an image with the marker in all metadata of its format, and again after the end of the file."""
    marker = LOCATION_MARKER.encode()
    options: dict[str, object] = {"exif": gps_exif(), "xmp": b"<x:xmpmeta>" + marker + b"</x:xmpmeta>"}
    if format == "PNG":
        text = PngInfo()
        text.add_text("Comment", LOCATION_MARKER)
        text.add_itxt("XML:com.adobe.xmp", f"<x>{LOCATION_MARKER}</x>")
        text.add_text("Packed", LOCATION_MARKER, zip=True)
        options = {"exif": gps_exif(), "pnginfo": text}
    elif format in ("JPEG", "GIF"):
        options["comment"] = marker
    if format == "GIF":
        options = {"comment": marker}
    else:
        options["icc_profile"] = srgb_profile() + marker
    return encode(noise_image(40, 30), format, **options) + marker


def srgb_profile() -> bytes:
    """Return the sRGB colour profile."""
    return ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def png_chunk(name: bytes, data: bytes) -> bytes:
    """Return a PNG chunk."""
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def make_png(width: int, height: int, pixels: bytes = b"", *extra: bytes) -> bytes:
    """Return a greyscale PNG whose header declares this size, whatever `pixels` contains."""
    header = png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return (
        b"\x89PNG\r\n\x1a\n"
        + header
        + b"".join(extra)
        + png_chunk(b"IDAT", zlib.compress(pixels, 9))
        + png_chunk(b"IEND", b"")
    )


def png_bomb(side: int = 20_000) -> bytes:
    """Return a PNG whose header declares `side` times `side` pixels, with four million of them present."""
    return make_png(side, side, bytes(4_000_000))


def webp_header(width: int, height: int) -> bytes:
    """Return the start of a WebP file that declares this size."""
    data = bytes(4) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    body = b"WEBPVP8X" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def decode(content: bytes) -> Image.Image:
    """Return the image as a platform would decode it."""
    image = Image.open(BytesIO(content))
    image.load()
    return image


def parameter_id(value: object) -> str | None:
    """Return a parametrize id: media type and length of file contents, None for anything else."""
    return f"{sniff(value) or 'none'}-{len(value)}" if isinstance(value, bytes) else None


async def store_image(desk: Desk, content: bytes) -> str:
    """Store an image of the desk's user without checking it; return its URL."""
    url = save(desk.settings.images_folder, content)
    await desk._context.write(stored_images.add, url.rpartition("/")[2], desk._context.clock())
    return url
