"""Signature of grants: what one agent may do with one robot for one attempt."""

import logging
import time
from collections.abc import Callable

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from quartet_contracts import ALGORITHM, FENCE_SCOPE, MODEL_AUDIENCE, GrantClaims, audience
from quartet_contracts.approvals import ApprovalClaims
from quartet_orchestrator.errors import SetupError
from quartet_orchestrator.settings import OrchestratorSettings
from quartet_process import Secret, SecretError

log = logging.getLogger(__name__)

LEEWAY_S = 60
"""Time by which a grant outlives the deadline of its request: the robot may still be brought to rest then."""


class GrantSigner:
    """Signs with the private key, whose public key the servers have."""

    def __init__(self, key: Ed25519PrivateKey | Callable[[], Ed25519PrivateKey]) -> None:
        self._key = (lambda: key) if isinstance(key, Ed25519PrivateKey) else key

    @classmethod
    def from_settings(cls, settings: OrchestratorSettings) -> "GrantSigner":
        """Return a signer with the key of the settings. Raises SetupError when there is no usable one."""
        try:
            remedy = "make one with: openssl genpkey -algorithm ed25519 -out grant.pem"
            return cls(_PrivateKey(settings.needed_secret("grant_private_key", remedy)))
        except SecretError as problem:
            raise SetupError(str(problem)) from problem

    def sign_model_grant(self, task_id: str, seconds: float) -> str:
        """Return the orchestrator's own token for asking its model for a task within the next `seconds`."""
        now = time.time()
        claims = GrantClaims(
            sub="orchestrator",
            aud=MODEL_AUDIENCE,
            iat=int(now) - 5,
            exp=int(now + seconds) + LEEWAY_S,
            jti="orchestrator",
            fence=0,
            tools=[],
            task=task_id,
        )
        return jwt.encode(claims.model_dump(), self._key(), algorithm=ALGORITHM)

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
        """Return the token of one attempt, valid until LEEWAY_S after `deadline` (seconds since the epoch)."""
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
        return jwt.encode(claims.model_dump(), self._key(), algorithm=ALGORITHM)

    def sign_approval(self, claims: ApprovalClaims) -> str:
        """Return the token with a person's decision on one call, as the servers check it."""
        return jwt.encode(claims.model_dump(), self._key(), algorithm=ALGORITHM)

    def sign_fence(self, *, robot: str, request_id: str, fence: int) -> str:
        """Return the orchestrator's own token for installing `fence`."""
        return self.sign(
            agent="orchestrator",
            robot=robot,
            request_id=request_id,
            fence=fence,
            tools=[FENCE_SCOPE],
            deadline=time.time(),
        )


class _PrivateKey:
    """Newest key of a secret, read again when it changes. Raises SetupError when the first one is not usable."""

    def __init__(self, secret: Secret) -> None:
        self._secret, self._text = secret, secret.first
        self._key = _parse(self._text, secret.where)

    def __call__(self) -> Ed25519PrivateKey:
        if self._secret.first != self._text:
            self._text = self._secret.first
            try:
                self._key = _parse(self._text, self._secret.where)
            except SetupError as problem:
                log.error("%s; the previous key stays in use", problem)
        return self._key


def _parse(pem: str, where: str) -> Ed25519PrivateKey:
    try:
        key = load_pem_private_key(pem.encode(), password=None)
    except (ValueError, TypeError) as error:
        raise SetupError(f"{where} is not an unencrypted PEM private key: {error}") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise SetupError(f"{where} is a {type(key).__name__}; an Ed25519 key is needed")
    return key
