"""Signer of the grants with which this service stops and resets servers."""

import logging
import time

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from quartet_contracts import ALGORITHM, RESET_SCOPE, STOP_ISSUER, STOP_SCOPE, GrantClaims, audience
from quartet_process import Secret, SecretError

log = logging.getLogger(__name__)

VALID_S = 600
RENEW_S = 300


class StopSigner:
    """Signs tokens for stop and reset, and reuses each for RENEW_S, so that a stop seldom waits for a signature."""

    def __init__(self, secret: Secret) -> None:
        """`secret` holds the key and is read again when it changes. Raises SecretError."""
        self._secret, self._text = secret, secret.first
        self._key = _parse(self._text, secret.where)
        self._tokens: dict[str, tuple[float, str]] = {}

    def token(self, robot: str) -> str:
        """Return a valid token for the servers of `robot`."""
        self._reload_key()
        now = time.time()
        made, token = self._tokens.get(robot, (0.0, ""))
        if not 0 <= now - made < RENEW_S:
            claims = GrantClaims(
                iss=STOP_ISSUER,
                sub="stop",
                aud=audience(robot),
                iat=int(now) - 5,
                exp=int(now) + VALID_S,
                jti=f"stop-{int(now)}",
                fence=0,
                tools=[RESET_SCOPE, STOP_SCOPE],
            )
            token = jwt.encode(claims.model_dump(), self._key, algorithm=ALGORITHM)
            self._tokens[robot] = (now, token)
        return token

    def _reload_key(self) -> None:
        if self._secret.first != self._text:
            self._text = self._secret.first
            try:
                self._key = _parse(self._text, self._secret.where)
                self._tokens.clear()
            except SecretError as problem:
                log.error("%s; the previous key stays in use", problem)


def _parse(pem: str, where: str) -> Ed25519PrivateKey:
    try:
        key = load_pem_private_key(pem.encode(), password=None)
    except (ValueError, TypeError) as error:
        raise SecretError(
            f"{where} is not an unencrypted PEM private key: {error}; make one with: openssl genpkey -algorithm ed25519"
        ) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise SecretError(f"{where} is a {type(key).__name__}; an Ed25519 key is needed")
    return key
