"""Signs grants: what one agent may do with one robot for one attempt."""

import time

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from quartet_contracts import ALGORITHM, FENCE_SCOPE, GrantClaims, audience
from quartet_contracts.approvals import ApprovalClaims
from quartet_orchestrator.errors import SetupProblem
from quartet_orchestrator.settings import OrchestratorSettings

LEEWAY_S = 60
"""A grant outlives the deadline of its request by this, so that a standstill after the deadline is still allowed."""


class Signer:
    """Holds the private key; servers hold the public one."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key

    @classmethod
    def from_settings(cls, settings: OrchestratorSettings) -> "Signer":
        """Raises SetupProblem when there is no usable key."""
        return cls(_load(settings))

    def sign(
        self,
        *,
        agent: str,
        robot: str,
        request_id: str,
        fence: int,
        tools: list[str],
        deadline: float,
        task_id: str = "",
    ) -> str:
        """The token of one attempt, valid until a little after `deadline` (epoch seconds)."""
        claims = GrantClaims(
            sub=agent,
            aud=audience(robot),
            iat=int(time.time()) - 5,
            exp=int(deadline) + LEEWAY_S,
            jti=request_id,
            fence=fence,
            tools=tools,
            beats=True,
            task=task_id,
        )
        return jwt.encode(claims.model_dump(), self._key, algorithm=ALGORITHM)

    def sign_approval(self, claims: ApprovalClaims) -> str:
        """A person's word on one call, as the servers check it."""
        return jwt.encode(claims.model_dump(), self._key, algorithm=ALGORITHM)

    def sign_fence(self, *, robot: str, request_id: str, fence: int) -> str:
        """The orchestrator's own token for installing `fence`."""
        return self.sign(
            agent="orchestrator",
            robot=robot,
            request_id=request_id,
            fence=fence,
            tools=[FENCE_SCOPE],
            deadline=time.time(),
        )


def _load(settings: OrchestratorSettings) -> Ed25519PrivateKey:
    if settings.grant_private_key is not None:
        source, text = "QUARTET_GRANT_PRIVATE_KEY", settings.grant_private_key.get_secret_value()
        # An .env file can hold a PEM only in one line.
        pem = text.replace("\\n", "\n").encode()
    elif settings.grant_private_key_file is not None:
        source = f"QUARTET_GRANT_PRIVATE_KEY_FILE ({settings.grant_private_key_file})"
        try:
            pem = settings.grant_private_key_file.read_bytes()
        except OSError as error:
            raise SetupProblem(f"{source} cannot be read: {error.strerror or error}") from error
    else:
        raise SetupProblem(
            "QUARTET_GRANT_PRIVATE_KEY or QUARTET_GRANT_PRIVATE_KEY_FILE is not set; make a key with: "
            "openssl genpkey -algorithm ed25519 -out grant.pem"
        )
    try:
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError) as error:
        raise SetupProblem(f"{source} is not an unencrypted PEM private key: {error}") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise SetupProblem(f"{source} is a {type(key).__name__}; an Ed25519 key is needed")
    return key
