"""Grants as the orchestrator signs them, for tests of those who check them."""

import time
from dataclasses import dataclass, field
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from quartet_contracts import ALGORITHM, GrantClaims
from quartet_contracts._grants import audience

FAR_FUTURE = 4_000_000_000
"""Seconds since the epoch; a grant that does not expire while a test runs."""


def grant_claims(*tools: str, robot: str = "summit", **claims: Any) -> GrantClaims:
    """Return the claims of a grant of the agent `test` for `tools`, with fence 1; further claims override."""
    values = {"sub": "test", "aud": audience(robot), "iat": 0, "exp": FAR_FUTURE, "jti": "request-1", "fence": 1}
    return GrantClaims(**{**values, "tools": list(tools), **claims})


@dataclass
class Keys:
    """The orchestrator's key pair."""

    private: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)

    @property
    def public_pem(self) -> str:
        """The public key as PEM."""
        return self.private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()

    def token(self, *tools: str, robot: str = "summit", **claims: Any) -> str:
        """Return a signed grant for `tools` that expires in ten minutes; further claims override."""
        now = int(time.time())
        content = grant_claims(*tools, robot=robot, iat=now, exp=now + 600).model_dump() | claims
        return self.sign(content)

    def sign(self, content: dict[str, Any]) -> str:
        """Sign any content, also one that is no valid grant."""
        return jwt.encode(content, self.private, algorithm=ALGORITHM)
