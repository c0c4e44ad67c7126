"""Guarded access to the network. Only public addresses are connected to, and response bodies are limited in size."""

from copydesk.version import __version__

PROJECT_URL = "https://pypi.org/project/copydesk/"
"""The project's page, as in pyproject.toml."""
RETRY_HINT = "Copydesk retries automatically."
"""Hint for sources that are fetched regularly; not true for a source that is only being tested."""


def user_agent(contact: str = "") -> str:
    """Return the User-Agent header: version, project page and the user's contact, as publishers and Reddit ask for.

    HTTP header values are ASCII, so other characters of the contact are dropped.
    """
    ascii_contact = "".join(char for char in contact if char.isascii() and char.isprintable() and char not in "()")
    return f"Copydesk/{__version__} (+{'; '.join(filter(None, (PROJECT_URL, ascii_contact.strip())))})"
