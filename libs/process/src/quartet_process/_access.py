"""Access to a port: beyond this machine nothing is served without a credential."""

import ipaddress
from collections.abc import Mapping
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


def cross_site_reason(headers: Mapping[str, str], *, own_pages: bool = False) -> str | None:
    """Return, as text, why a web page of another site may have sent a request; None if nothing points to one.

    For a port without a credential: a page of any site can send requests from a browser on this machine, and can name
    the machine by a host name of its own.

    Args:
        headers: Of the request, names in lower case.
        own_pages: Whether pages that this port serves may send requests.
    """
    origin, host = headers.get("origin"), headers.get("host", "")
    if not is_loopback(_host_of(f"//{host}")):
        return f"a request for the host '{host[:100]}' (valid: 127.0.0.1, [::1], localhost)"
    if origin is not None and not (own_pages and origin.partition("://")[2] == host):
        return f"a request of a web page ({origin[:100]})"
    return None


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
