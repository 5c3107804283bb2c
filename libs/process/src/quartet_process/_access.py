"""Access to a port: beyond this machine nothing is served without a credential."""

import ipaddress
from collections.abc import Collection, Mapping
from urllib.parse import urlsplit

from quartet_process._secrets import MIN_TOKEN_LENGTH, Secret, missing_secret
from quartet_process._settings import ProcessSettings
from quartet_process.errors import SecretError


def is_loopback(host: str | None) -> bool:
    """Return whether `host`, an address or the name localhost, is reachable from this machine only."""
    if host == "localhost":
        return True
    try:
        return host is not None and ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def cross_site_reason(
    headers: Mapping[str, str], *, own_pages: bool = False, known_hosts: Collection[str] | None = None
) -> str | None:
    """Return, as text, why a web page of another site may have sent a request; None if nothing points to one.

    A page of any site can send requests from a browser that reaches this port, and can name the machine by a host name
    of its own (DNS rebinding).

    Args:
        headers: Of the request, names in lower case.
        own_pages: Whether pages that this port serves may send requests.
        known_hosts: Names, in lower case, by which other machines call this one. With it, however empty, addresses and
            names without a dot are valid too: no site of the internet can have them. None: this machine only.
    """
    origin, host = headers.get("origin"), headers.get("host", "")
    if not _is_own(_host_of(f"//{host}"), known_hosts):
        valid = "127.0.0.1, [::1], localhost"
        if known_hosts is not None:
            valid = ", ".join(["an address", "a name without a dot", *sorted(known_hosts)])
        return f"a request for the host '{host[:100]}' (valid: {valid})"
    if origin is not None and not (own_pages and origin.partition("://")[2] == host):
        return f"a request of a web page ({origin[:100]})"
    return None


def _is_own(host: str | None, known_hosts: Collection[str] | None) -> bool:
    if known_hosts is None:
        return is_loopback(host)
    return bool(host) and (host in known_hosts or "." not in host or _is_address(host))


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _host_of(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def require_credential(host: str, secret: Secret | None, name: str, *, what: str, anonymous: bool = True) -> None:
    """Raise SecretError if `what` would be open to everyone who reaches `host`.

    With `anonymous`, a port on a loopback address needs no secret `name`.
    """
    if secret is not None or (anonymous and is_loopback(host)):
        return
    if is_loopback(host):
        raise SecretError(
            missing_secret(
                name,
                f"quartet secrets init makes one; QUARTET_ALLOW_ANONYMOUS=true serves {what} on this machine "
                "without it",
            )
        )
    raise SecretError(
        missing_secret(
            name, f"without it {what} is not served at {host}, where others than this machine reach it (QUARTET_HOST)"
        )
    )


def metrics_secret(settings: ProcessSettings, host: str) -> Secret | None:
    """Return the token of GET /metrics at `host`; None: it needs none. Raises SecretError if it must have one."""
    secret = settings.secret("metrics_token", least=MIN_TOKEN_LENGTH)
    require_credential(host, secret, "metrics_token", what="/metrics")
    return secret
