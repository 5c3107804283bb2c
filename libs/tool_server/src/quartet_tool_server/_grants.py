"""Verification of the signed grant that every request carries."""

import logging
from collections.abc import Sequence
from contextvars import ContextVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from fastmcp.server.auth import AccessToken, TokenVerifier
from fastmcp.server.dependencies import get_access_token
from pydantic import ValidationError

from quartet_contracts import ISSUER, RESET_SCOPE, STOP_ISSUER, STOP_SCOPE, GrantClaims, audience
from quartet_process import InvalidTokenError, boot_time
from quartet_process.signatures import TokenReader

log = logging.getLogger(__name__)

current_grant: ContextVar[GrantClaims | None] = ContextVar("current_grant", default=None)
"""Grant of the call that is being served."""


class GrantVerifier(TokenVerifier):
    """Accepts tokens that one of `keys` signed for `robot`; anything else is HTTP 401.

    `stop_keys` are those of stop services: they sign stops and resets and nothing else.
    """

    def __init__(
        self, robot: str, keys: Sequence[Ed25519PublicKey], stop_keys: Sequence[Ed25519PublicKey] = ()
    ) -> None:
        super().__init__()
        self.robot, self.keys, self._stop_keys = robot, keys, stop_keys
        self._reader = TokenReader(self._issuers, audience(robot))

    def _issuers(self) -> list[tuple[Ed25519PublicKey, str]]:
        return [*((key, ISSUER) for key in self.keys), *((key, STOP_ISSUER) for key in self._stop_keys)]

    def check(self, token: str) -> GrantClaims:
        """The claims of a valid token. Raises InvalidTokenError."""
        return self._check(token)[0]

    def _check(self, token: str) -> tuple[GrantClaims, float]:
        """Return the claims of a valid token, and its end as boot_time() counts [s]. Raises InvalidTokenError."""
        checked = self._reader.read(token)
        try:
            return _within_rights(GrantClaims.model_validate(checked.claims)), checked.until
        except ValidationError as error:
            raise InvalidTokenError(f"{type(error).__name__}: {error}") from error

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the access of a valid token, None for any other."""
        try:
            claims, until = self._check(token)
        except InvalidTokenError as error:
            # The client is only told 401.
            log.warning("a call for robot '%s' is refused: %s", self.robot, error)
            return None
        # Without `expires_at`, which the mcp package compares with the wall clock: it may have been set meanwhile.
        return _Access(token=token, client_id=claims.sub, scopes=claims.tools, claims=claims.model_dump(), until=until)


class _Access(AccessToken):
    """Access of a valid grant."""

    until: float
    """End of the grant, as boot_time() counts [s]."""


def _within_rights(claims: GrantClaims) -> GrantClaims:
    """Raises InvalidTokenError when a stop service grants more than stops and resets."""
    beyond = sorted(set(claims.tools) - {STOP_SCOPE, RESET_SCOPE})
    if claims.iss == STOP_ISSUER and beyond:
        raise InvalidTokenError(f"a stop service cannot grant {', '.join(beyond)}")
    return claims


def caller_token() -> str:
    """Grant of the request that is being served, as it was presented; '' where it carries none."""
    token = get_access_token()
    return "" if token is None else token.token


def caller() -> GrantClaims | None:
    """Claims of the request that is being served, None where it carries no grant."""
    token = get_access_token()
    if not isinstance(token, _Access) or token.until <= boot_time():
        return None
    return GrantClaims.model_validate(token.claims)
