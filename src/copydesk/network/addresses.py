"""Tell addresses of the public internet from those of this machine and of private networks."""

import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

# The ranges that IANA's special-purpose registries list as not globally reachable, and multicast. Spelled out because
# the meaning of `is_global` in `ipaddress` changed between Python's patch releases.
_NOT_PUBLIC_4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",
        "169.254.0.0/16",  # link-local, used by cloud metadata services
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/3",  # multicast, reserved, broadcast
    )
)
_GLOBAL_6 = IPv6Network("2000::/3")
_NOT_PUBLIC_6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments, including Teredo
        "2001:db8::/32",
        "3fff::/20",
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")
_6TO4 = IPv6Network("2002::/16")


def is_public(address: str) -> bool:
    """Return True if `address`, in a form that `ipaddress` parses, is a unicast address of the public internet.

    An IPv6 address that embeds an IPv4 address (mapped, NAT64, 6to4) is judged by that one. Anything that is no address
    is not public.
    """
    try:
        # A link-local IPv6 address may carry its interface: fe80::1%eth0.
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, IPv6Address):
        embedded = _embedded_ipv4(ip)
        if embedded is None:
            # Only 2000::/3 is allocated for global unicast; everything else is refused by default.
            return ip in _GLOBAL_6 and not any(ip in network for network in _NOT_PUBLIC_6)
        ip = embedded
    return not any(ip in network for network in _NOT_PUBLIC_4)


def _embedded_ipv4(ip: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address embedded in `ip`; None if there is none."""
    if ip.ipv4_mapped is not None:
        return ip.ipv4_mapped
    if ip in _NAT64:
        return IPv4Address(ip.packed[12:])
    return IPv4Address(ip.packed[2:6]) if ip in _6TO4 else None


def is_local_host(host: str) -> bool:
    """Return True if `host` names this machine or is written as an address that is not public.

    Also in the notations that only the C library reads, such as `0x7f.1`. Other names are not looked up.
    """
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = name if is_address(name) else socket.inet_ntoa(socket.inet_aton(name))
    except (OSError, ValueError):  # the latter for characters that no host has
        return False
    return not is_public(address)


def is_address(host: str) -> bool:
    """Return True if `host` is an IP address, not a name."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
