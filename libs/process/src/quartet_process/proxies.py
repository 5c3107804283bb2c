"""The decision whether a client may use the proxies of the environment (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY).

A proxy leads out of the site. Robots, servers, the parts of a deployment and local models are inside, where a proxy
cannot reach them. Clients that only have peers inside never use a proxy; each other client asks `uses_proxy`.
"""

import ipaddress
import socket
import urllib.request
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

NO_PROXIES: Final[Mapping[str, None]] = {"http://": None, "https://": None, "all://": None}
"""`mounts` of an httpx2 client that uses no proxy but reads the other settings of the environment."""
INSIDE: Final = (".localhost", ".local", ".internal", ".lan", ".home.arpa")
"""Ends of names that no public name server knows, or that lead to the same machine."""


def uses_proxy(url: str) -> bool:
    """Return whether a request to `url` goes through a proxy of the environment.

    It does not if the environment has no proxy for it, if NO_PROXY names its host, and if its host is inside: a name
    without a dot, a name with one of the ends INSIDE, or a host whose addresses are all private. A name that cannot be
    resolved is outside. May block while a name is resolved.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    proxies = urllib.request.getproxies()
    if not (proxies.get(parts.scheme) or proxies.get("all")) or urllib.request.proxy_bypass(host):
        return False
    return not _is_inside(host)


def _is_inside(host: str) -> bool:
    try:
        return not ipaddress.ip_address(host.partition("%")[0]).is_global
    except ValueError:
        if "." not in host or host.endswith(INSIDE):
            return True
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    return not any(ipaddress.ip_address(str(entry[4][0]).partition("%")[0]).is_global for entry in found)
