"""Pictures for tests: made here, the same every time, harmless or not.

photo(800, 600)                 # a JPEG that packs badly, as a photo does
photo(80, 60, exif=where())     # with the place where it was taken
bomb()                          # a few kilobytes that want gigabytes
"""

import random
import struct
import zlib
from io import BytesIO

from PIL import Image, ImageCms
from PIL.PngImagePlugin import PngInfo

from copydesk.pictures.kind import kind_of

PLACE = "GPS-52.5200N-13.4050E"
"""What no picture that leaves Copydesk may hold."""


def noise(width: int, height: int, mode: str = "RGB") -> Image.Image:
    """Pixels by chance, the same every time."""
    return Image.frombytes(mode, (width, height), random.Random(1).randbytes(width * height * len(mode)))


def smooth(width: int, height: int) -> Image.Image:
    """Colours that run into each other, with some grain: packs as a photo does."""
    small = noise(max(2, width // 16), max(2, height // 16)).resize((width, height), Image.Resampling.BICUBIC)
    return Image.blend(small, noise(width, height), 0.08)


def packed(picture: Image.Image, format: str, **how: object) -> bytes:
    """The bytes of a file in `format`."""
    out = BytesIO()
    picture.save(out, format, **how)
    return out.getvalue()


def photo(width: int = 64, height: int = 48, **how: object) -> bytes:
    """A JPEG of `smooth`."""
    return packed(smooth(width, height), "JPEG", **how)


def drawing(width: int = 64, height: int = 48, **how: object) -> bytes:
    """A PNG of one colour with a line."""
    picture = Image.new("RGB", (width, height), (250, 240, 200))
    picture.paste((0, 0, 120), (0, height // 2, width, height // 2 + 1))
    return packed(picture, "PNG", **how)


def moving(format: str = "GIF", frames: int = 3) -> bytes:
    """An animation: a red frame, then blue ones."""
    colours = ["red", *["blue"] * (frames - 1)]
    every = [Image.new("RGB", (20 + place, 20), colour).resize((20, 20)) for place, colour in enumerate(colours)]
    for place, frame in enumerate(every):
        frame.putpixel((place, 0), (0, 255, 0))
    return packed(every[0], format, save_all=True, append_images=every[1:], duration=100)


def where(orientation: int = 1) -> Image.Exif:
    """EXIF that tells where the photo was taken, by whom, and how the camera was held."""
    exif = Image.Exif()
    exif[0x0112], exif[0x010E], exif[0x013B] = orientation, PLACE, f"Artist {PLACE}"
    place = exif.get_ifd(0x8825)
    place[1], place[2], place[29] = "N", (52.0, 31.0, 12.0), PLACE
    return exif


def told_everywhere(format: str) -> bytes:
    """A picture that says PLACE in every way that its format has, and once more behind its end."""
    said = PLACE.encode()
    how: dict[str, object] = {"exif": where(), "xmp": b"<x:xmpmeta>" + said + b"</x:xmpmeta>"}
    if format == "PNG":
        text = PngInfo()
        text.add_text("Comment", PLACE)
        text.add_itxt("XML:com.adobe.xmp", f"<x>{PLACE}</x>")
        text.add_text("Packed", PLACE, zip=True)
        how = {"exif": where(), "pnginfo": text}
    elif format in ("JPEG", "GIF"):
        how["comment"] = said
    if format == "GIF":
        how = {"comment": said}
    else:
        how["icc_profile"] = profile() + said
    return packed(noise(40, 30), format, **how) + said


def profile() -> bytes:
    """sRGB's colour profile."""
    return ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def chunk(name: bytes, inside: bytes) -> bytes:
    """A chunk of a PNG."""
    return struct.pack(">I", len(inside)) + name + inside + struct.pack(">I", zlib.crc32(name + inside))


def png(width: int, height: int, pixels: bytes = b"", *extra: bytes) -> bytes:
    """A PNG in shades of grey that says to be so large, whatever `pixels` are."""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return (
        b"\x89PNG\r\n\x1a\n" + head + b"".join(extra) + chunk(b"IDAT", zlib.compress(pixels, 9)) + chunk(b"IEND", b"")
    )


def bomb(side: int = 20_000) -> bytes:
    """A PNG whose header asks for `side` times `side` pixels, and which really has a good part of them."""
    return png(side, side, bytes(4_000_000))


def webp_header(width: int, height: int) -> bytes:
    """The beginning of a WebP that says to be so large."""
    inside = bytes(4) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    body = b"WEBPVP8X" + struct.pack("<I", len(inside)) + inside
    return b"RIFF" + struct.pack("<I", len(body)) + body


def frames_of(content: bytes) -> Image.Image:
    """The picture that a platform would show."""
    picture = Image.open(BytesIO(content))
    picture.load()
    return picture


def named(value: object) -> str | None:
    """The id of a test's parameter: of the bytes of a file only what they are."""
    return f"{kind_of(value) or 'none'}-{len(value)}" if isinstance(value, bytes) else None
