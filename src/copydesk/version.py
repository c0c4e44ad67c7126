"""The version of Copydesk, and how a part of it that is missing is installed."""

__version__ = "0.1.0"


def install_hint(extra: str) -> str:
    """Return how to install an extra: from a checkout, as the name on PyPI is not ours."""
    return f"Install it in a checkout: pip install '.[{extra}]'"
