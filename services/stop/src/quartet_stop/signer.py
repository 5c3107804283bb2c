"""Signs this service's own grants: stops and resets, and nothing else."""

import time
from pathlib import Path

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from quartet_contracts import ALGORITHM, RESET_SCOPE, STOP_ISSUER, STOP_SCOPE, GrantClaims, audience
from quartet_stop.settings import SetupProblem

VALID_S = 600
RENEW_S = 300


class Signer:
    """One token per robot, kept ready so that a stop need not wait for a signature."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self._tokens: dict[str, tuple[float, str]] = {}

    @classmethod
    def from_file(cls, file: Path) -> "Signer":
        """Raises SetupProblem."""
        where = f"QUARTET_STOP_PRIVATE_KEY_FILE ({file})"
        try:
            key = load_pem_private_key(file.read_bytes(), password=None)
        except OSError as error:
            raise SetupProblem(f"{where} cannot be read: {error.strerror or error}") from error
        except (ValueError, TypeError) as error:
            raise SetupProblem(
                f"{where} is not an unencrypted PEM private key: {error}; make one with: openssl genpkey -algorithm "
                "ed25519"
            ) from error
        if not isinstance(key, Ed25519PrivateKey):
            raise SetupProblem(f"{where} is a {type(key).__name__}; an Ed25519 key is needed")
        return cls(key)

    def token(self, robot: str) -> str:
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
