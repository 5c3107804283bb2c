"""Who may reach a port: beyond this machine nothing is served without a credential."""

import ipaddress

from quartet_process.secrets import LEAST, ProcessSettings, Secret, SecretProblem, missing


def is_loopback(host: str | None) -> bool:
    """Whether `host`, an address or the name localhost, is this machine alone."""
    if host == "localhost":
        return True
    try:
        return host is not None and ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


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
