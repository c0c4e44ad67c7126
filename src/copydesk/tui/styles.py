"""Paths of the style sheets."""

from pathlib import Path


def stylesheet_path(name: str) -> Path:
    """Return the path of the style sheet `name`.

    It is in the package if installed from a wheel, else at the top of the checkout.
    """
    package = Path(__file__).parent.parent
    installed = package / "styles"
    folder = installed if installed.is_dir() else package.parent.parent / "styles"
    return folder / name
