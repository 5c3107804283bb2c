"""Who may reach a port: beyond this machine nothing is served without a credential."""

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from quartet_process.secrets import LEAST, ProcessSettings, Secret, SecretProblem, missing


def is_loopback(host: str | None) -> bool:
    """Whether `host`, an address or the name localhost, is this machine alone."""
    if host == "localhost":
        return True
    try:
        return host is not None and ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def foreign_page(headers: Mapping[str, str], *, own_pages: bool = False) -> str | None:
    """In words, what shows that a page of another site may have sent a request; None where nothing does.

    For a port that asks for no credential: a page of any site can send requests from a browser on this machine, and
    name the machine by a host of its own. `headers` in lower case; with `own_pages` those served here may ask.
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
    """Raises SecretProblem when `what` would be open to whoever reaches `host`.

    With `anonymous` a port on a loopback address may do without the secret `name`.
    """
    if secret is not None or (anonymous and is_loopback(host)):
        return
    if is_loopback(host):
        raise SecretProblem(
            missing(name, f"quartet secrets init makes one; QUARTET_ALLOW_ANONYMOUS=true serves {what} on this machine "
                    "without it")
        )  # fmt: skip
    raise SecretProblem(
        missing(
            name, f"without it {what} is not served at {host}, where others than this machine reach it (QUARTET_HOST)"
        )
    )


def metrics_secret(settings: ProcessSettings, host: str) -> Secret | None:
    """What GET /metrics asks for, None where it asks for nothing. Raises SecretProblem; `host` is where it listens."""
    secret = settings.secret("metrics_token", least=LEAST)
    require_credential(host, secret, "metrics_token", what="/metrics")
    return secret
