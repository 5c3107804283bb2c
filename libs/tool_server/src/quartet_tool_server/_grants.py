"""Verification of the signed grant that every request carries."""

import logging
import time
from collections.abc import Sequence
from contextvars import ContextVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from fastmcp.server.auth import AccessToken, TokenVerifier
from fastmcp.server.dependencies import get_access_token
from pydantic import ValidationError

from quartet_contracts import ISSUER, RESET_SCOPE, STOP_ISSUER, STOP_SCOPE, GrantClaims, audience
from quartet_process import InvalidTokenError
from quartet_process.signatures import LEEWAY_S, read_token

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

    def check(self, token: str) -> GrantClaims:
        """The claims of a valid token. Raises InvalidTokenError."""
        issuers = (*((key, ISSUER) for key in self.keys), *((key, STOP_ISSUER) for key in self._stop_keys))
        claims = read_token(token, issuers, audience(self.robot))
        try:
            return _within_rights(GrantClaims.model_validate(claims))
        except ValidationError as error:
            raise InvalidTokenError(f"{type(error).__name__}: {error}") from error

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the access of a valid token, None for any other."""
        try:
            claims = self.check(token)
        except InvalidTokenError as error:
            # The client is only told 401.
            log.warning("a call for robot '%s' is refused: %s", self.robot, error)
            return None
        return AccessToken(
            token=token,
            client_id=claims.sub,
            scopes=claims.tools,
            expires_at=claims.exp,
            claims=claims.model_dump(),
        )


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
    if token is None or not token.claims:
        return None
    claims = GrantClaims.model_validate(token.claims)
    return claims if claims.exp + LEEWAY_S > time.time() else None
