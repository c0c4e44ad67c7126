"""Facts of endpoints: their addresses, and what their models take."""

import re
from ipaddress import ip_address

from copydesk.errors import FieldError, InvalidError
from copydesk.model.writer import Endpoint, WireProtocol
from copydesk.network.addresses import is_local_host
from copydesk.network.client import UnusableUrlError, host_name, parse_url

DEFAULT_URLS = {
    WireProtocol.OPENAI: "https://api.openai.com/v1",
    WireProtocol.ANTHROPIC: "https://api.anthropic.com/v1",
}
_LOCAL_SUFFIXES = (".local", ".lan", ".internal", ".home.arpa")
"""Names of hosts in the user's own network, besides those without a dot."""
_CLAUDE = re.compile(r"claude-(opus|sonnet|haiku|fable)-(\d{1,2})(?:[.-](\d{1,2})(?!\d))?")
_SAMPLING = ("temperature", "top_p", "top_k")


def normalize_url(base_url: str, protocol: WireProtocol) -> str:
    """Return a base URL without a slash at its end; empty is the provider's own. Raise InvalidError."""
    base_url = (base_url or DEFAULT_URLS[protocol]).rstrip("/")
    if problem := _url_problem(base_url):
        raise InvalidError(FieldError("baseUrl", problem))
    return base_url


def _url_problem(base_url: str) -> str:
    """Return why a base URL cannot be used, or ""."""
    expected = "must be an address such as https://api.example.com/v1"
    try:
        url = parse_url(base_url)
    except UnusableUrlError:
        return expected
    if url.query or base_url.endswith(("/chat/completions", "/messages")):
        return f"{expected}, without what follows it"
    # Over plain HTTP the key and the drafts would be readable on the way.
    if url.scheme == "http" and not is_in_own_network(host_name(url)):
        return "must begin with https:// outside of your own network"
    return ""


def is_local(endpoint: Endpoint) -> bool:
    """Return True if the user placed the endpoint on this machine or in the local network."""
    return is_in_own_network(host_name(parse_url(endpoint.base_url)))


def is_in_own_network(host: str) -> bool:
    """Return True if `host` names this machine or one of the local network. Names are not looked up."""
    name = host.rstrip(".").lower()
    if is_local_host(name):
        return True
    try:
        ip_address(name)
    except ValueError:
        return "." not in name or name.endswith(_LOCAL_SUFFIXES)
    return False


def supports_parameter(protocol: WireProtocol, model: str, parameter: str) -> bool:
    """Return False if this model is known to refuse requests with `parameter`, such as `temperature`.

    Unknown models are taken to support it.
    """
    if parameter not in _SAMPLING:
        return True
    # Routers name models as `anthropic/claude-…`.
    name = model.lower().rpartition("/")[2]
    if claude := _CLAUDE.search(name):
        family, version = claude[1], (int(claude[2]), int(claude[3] or 0))
        return version < ((4, 7) if family == "opus" else (5, 0))
    if protocol is WireProtocol.OPENAI and parameter == "temperature":
        return not re.match(r"o\d|gpt-5(?!.*chat)", name)
    return True
