"""The images of a new draft as command-line options: files, URLs, and one made by an image generator."""

import os
from collections.abc import Callable, Iterable
from functools import reduce
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from copydesk.cli.context import Context, pass_context, print_json
from copydesk.errors import CopydeskError
from copydesk.model.draft import DraftImage, ImageSource, stored_image_digest, stored_image_url
from copydesk.model.requests import CreatedDrafts, validate_create

if TYPE_CHECKING:
    from copydesk.desk import Desk

PROVIDERS = {"a": ImageSource.AI_PROVIDER_A, "b": ImageSource.AI_PROVIDER_B}
OPTIONS = (
    click.option(
        "--image",
        "images",
        multiple=True,
        metavar="FILE|URL",
        help="Attach an image, from a file or URL, to the first draft; may be repeated.",
    ),
    click.option(
        "--ai-image",
        metavar="PROMPT",
        help="Generate an image from this prompt with an image generator of the settings; added last.",
    ),
    click.option(
        "--provider",
        type=click.Choice(tuple(PROVIDERS), case_sensitive=False),
        help="The generator for --ai-image: a for [images_a] in the settings (default), b for [images_b].",
    ),
    click.option(
        "--alt",
        "alts",
        multiple=True,
        metavar="TEXT",
        help="Alt text of an image; the first --alt belongs to the first image, and so on.",
    ),
)
_PLACEHOLDER_URL = stored_image_url("0" * 64)
"""Placeholder for the generated image while everything else is validated."""


def with_image_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add all image options to a command, which passes them to `parse_image_options`."""
    return reduce(lambda decorated, option: option(decorated), reversed(OPTIONS), command)


class ImageOptions(NamedTuple):
    """The parsed image options."""

    images: tuple[tuple[str, str | None], ...]
    """Files and URLs, each with its alt text."""
    prompt: str | None
    provider: ImageSource
    alt: str | None
    """Alt text of the generated image."""


def parse_image_options(
    images: tuple[str, ...], alts: tuple[str, ...], ai_image: str | None, provider: str | None
) -> ImageOptions:
    """Combine the options' values. Raise UsageError if they do not go together."""
    if provider and ai_image is None:
        raise click.UsageError("--provider needs --ai-image.")
    if len(alts) > len(images) + (ai_image is not None):
        raise click.UsageError("More --alt options than images.")
    return ImageOptions(
        images=tuple(zip_longest(images, alts[: len(images)])),
        prompt=ai_image,
        provider=PROVIDERS[(provider or "a").lower()],
        alt=alts[len(images)] if len(alts) > len(images) else None,
    )


async def create_with_images(desk: "Desk", request: dict[str, Any], options: ImageOptions) -> CreatedDrafts:
    """Create drafts with their images. Raises as `drafts.create`, and ImageError."""
    images = [await _to_request_image(desk, *image) for image in options.images]
    if options.prompt is None:
        return await desk.drafts.create({**request, "images": images})

    def with_generated(url: str) -> dict[str, Any]:
        return {**request, "images": [*images, {"url": url, "source": options.provider, "alt": options.alt}]}

    # Generating costs money: validate everything else first.
    validate_create(with_generated(_PLACEHOLDER_URL))
    url = await desk.drafts.images.generate(options.prompt, options.provider)
    try:
        return await desk.drafts.create(with_generated(url))
    except CopydeskError:
        click.echo(f"The generated image is saved. Use it with: --image {url}", err=True)
        raise


def print_missing_alt(images: Iterable[DraftImage]) -> None:
    """Print which images lack an alt text."""
    missing = [f"{number}" for number, image in enumerate(images, 1) if not image.alt]
    if missing:
        which = f"Image {missing[0]} has" if len(missing) == 1 else f"Images {', '.join(missing)} have"
        click.echo(f"{which} no alt text. Add one: copydesk draft describe ID TEXT", err=True)


async def _to_request_image(desk: "Desk", image: str, alt: str | None) -> dict[str, object]:
    """Return an image as the desk accepts it; a file is stored first."""
    is_url = "://" in image or stored_image_digest(image) is not None
    url = image if is_url else await desk.drafts.images.save(_expand_path(image))
    return {"url": url, "source": ImageSource.UPLOAD, "alt": alt}


@click.command()
@click.argument("draft_id", metavar="ID")
@click.argument("alt", required=False, metavar="[TEXT]")
@click.option("--picture", type=click.IntRange(min=1), default=1, show_default=True, help="The number of the image.")
@click.option("--remove", is_flag=True, help="Remove the image instead.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON in the interface's shape.")
@pass_context
def describe(context: Context, *, draft_id: str, alt: str | None, picture: int, remove: bool, as_json: bool) -> None:
    """Set the alt text of a draft's image, or remove the image."""
    if remove is bool(alt):
        raise click.UsageError("Pass the alt text, or --remove.")
    changed = context.run(lambda desk: desk.drafts.images.describe(draft_id, None if remove else alt, position=picture))
    if as_json:
        print_json(changed)
    else:
        click.echo(
            f"Removed image {picture} of {changed.id}."
            if remove
            else f"Set the alt text of image {picture} of {changed.id}."
        )


COMMANDS = (describe,)


def _expand_path(name: str) -> Path:
    # A shell leaves the ~ of --image=~/a.png to us.
    return Path(os.path.expanduser(name))  # noqa: PTH111 - Path's own raises where there is no such user
