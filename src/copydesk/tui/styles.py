"""Where the style sheets are."""

from pathlib import Path


def sheet(name: str) -> Path:
    """The style sheet `name`: inside the package where it was installed from a wheel, else at the checkout's top."""
    package = Path(__file__).parent.parent
    installed = package / "styles"
    folder = installed if installed.is_dir() else package.parent.parent / "styles"
    return folder / name
