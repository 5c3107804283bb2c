"""Signs this service's own grants: stops and resets, and nothing else."""

import logging
import time

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from quartet_contracts import ALGORITHM, RESET_SCOPE, STOP_ISSUER, STOP_SCOPE, GrantClaims, audience
from quartet_process import Secret
from quartet_stop.settings import SetupProblem

log = logging.getLogger(__name__)

VALID_S = 600
RENEW_S = 300


class Signer:
    """One token per robot, kept ready so that a stop need not wait for a signature."""

    def __init__(self, secret: Secret) -> None:
        """`secret` holds the key and is read again when it changes. Raises SetupProblem."""
        self._secret, self._text = secret, secret.first
        self._key = _parse(self._text, secret.where)
        self._tokens: dict[str, tuple[float, str]] = {}

    def token(self, robot: str) -> str:
        self._look_for_a_new_key()
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

    def _look_for_a_new_key(self) -> None:
        if self._secret.first != self._text:
            self._text = self._secret.first
            try:
                self._key = _parse(self._text, self._secret.where)
                self._tokens.clear()
            except SetupProblem as problem:
                log.error("%s; the key from before stays in use", problem)


def _parse(pem: str, where: str) -> Ed25519PrivateKey:
    try:
        key = load_pem_private_key(pem.encode(), password=None)
    except (ValueError, TypeError) as error:
        raise SetupProblem(
            f"{where} is not an unencrypted PEM private key: {error}; make one with: openssl genpkey -algorithm ed25519"
        ) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise SetupProblem(f"{where} is a {type(key).__name__}; an Ed25519 key is needed")
    return key
