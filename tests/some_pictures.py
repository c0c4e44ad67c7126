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

from copydesk.pictures.kind import kind_of

PLACE = "GPS-52.5200N-13.4050E"
"""A marker in metadata that no image leaving Copydesk may contain."""


def noise(width: int, height: int, mode: str = "RGB") -> Image.Image:
    """Return an image of random pixels, the same every time."""
    return Image.frombytes(mode, (width, height), random.Random(1).randbytes(width * height * len(mode)))


def smooth(width: int, height: int) -> Image.Image:
    """Return gradients with some grain, which compress like a photo."""
    small = noise(max(2, width // 16), max(2, height // 16)).resize((width, height), Image.Resampling.BICUBIC)
    return Image.blend(small, noise(width, height), 0.08)


def packed(picture: Image.Image, format: str, **how: object) -> bytes:
    """Return the image encoded as a file in `format`."""
    out = BytesIO()
    picture.save(out, format, **how)
    return out.getvalue()


def photo(width: int = 64, height: int = 48, **how: object) -> bytes:
    """Return a JPEG of `photo_like_image`."""
    return packed(smooth(width, height), "JPEG", **how)


def drawing(width: int = 64, height: int = 48, **how: object) -> bytes:
    """Return a PNG of one colour with a line."""
    image = Image.new("RGB", (width, height), (250, 240, 200))
    image.paste((0, 0, 120), (0, height // 2, width, height // 2 + 1))
    return packed(image, "PNG", **how)


def moving(format: str = "GIF", frames: int = 3) -> bytes:
    """Return an animation: a red frame, then blue ones."""
    colours = ["red", *["blue"] * (frames - 1)]
    images = [Image.new("RGB", (20 + index, 20), colour).resize((20, 20)) for index, colour in enumerate(colours)]
    for index, frame in enumerate(images):
        frame.putpixel((index, 0), (0, 255, 0))
    return packed(images[0], format, save_all=True, append_images=images[1:], duration=100)


def where(orientation: int = 1) -> Image.Exif:
    """Return EXIF with GPS position, artist and orientation."""
    exif = Image.Exif()
    exif[0x0112], exif[0x010E], exif[0x013B] = orientation, PLACE, f"Artist {PLACE}"
    gps = exif.get_ifd(0x8825)
    gps[1], gps[2], gps[29] = "N", (52.0, 31.0, 12.0), PLACE
    return exif


def told_everywhere(format: str) -> bytes:
    """Return an image with the marker in all metadata of its format, and again after the end of the file."""
    marker = PLACE.encode()
    options: dict[str, object] = {"exif": where(), "xmp": b"<x:xmpmeta>" + marker + b"</x:xmpmeta>"}
    if format == "PNG":
        text = PngInfo()
        text.add_text("Comment", PLACE)
        text.add_itxt("XML:com.adobe.xmp", f"<x>{PLACE}</x>")
        text.add_text("Packed", PLACE, zip=True)
        options = {"exif": where(), "pnginfo": text}
    elif format in ("JPEG", "GIF"):
        options["comment"] = marker
    if format == "GIF":
        options = {"comment": marker}
    else:
        options["icc_profile"] = profile() + marker
    return packed(noise(40, 30), format, **options) + marker


def profile() -> bytes:
    """Return the sRGB colour profile."""
    return ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def chunk(name: bytes, inside: bytes) -> bytes:
    """Return a PNG chunk."""
    return struct.pack(">I", len(inside)) + name + inside + struct.pack(">I", zlib.crc32(name + inside))


def png(width: int, height: int, pixels: bytes = b"", *extra: bytes) -> bytes:
    """Return a greyscale PNG whose header declares this size, whatever `pixels` contains."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return (
        b"\x89PNG\r\n\x1a\n" + header + b"".join(extra) + chunk(b"IDAT", zlib.compress(pixels, 9)) + chunk(b"IEND", b"")
    )


def bomb(side: int = 20_000) -> bytes:
    """Return a PNG whose header declares `side` times `side` pixels, with four million of them present."""
    return png(side, side, bytes(4_000_000))


def webp_header(width: int, height: int) -> bytes:
    """Return the start of a WebP file that declares this size."""
    data = bytes(4) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    body = b"WEBPVP8X" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def frames_of(content: bytes) -> Image.Image:
    """Return the image as a platform would decode it."""
    image = Image.open(BytesIO(content))
    image.load()
    return image


def named(value: object) -> str | None:
    """Return a parametrize id: media type and length of file contents, None for anything else."""
    return f"{kind_of(value) or 'none'}-{len(value)}" if isinstance(value, bytes) else None
