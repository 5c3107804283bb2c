"""Signs grants: what one agent may do with one robot for one attempt."""

import logging
import time
from collections.abc import Callable

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from quartet_contracts import ALGORITHM, FENCE_SCOPE, GrantClaims, audience
from quartet_contracts.approvals import ApprovalClaims
from quartet_orchestrator.errors import SetupProblem
from quartet_orchestrator.settings import OrchestratorSettings
from quartet_process import Secret, SecretProblem

log = logging.getLogger(__name__)

LEEWAY_S = 60
"""A grant outlives the deadline of its request by this, so that a standstill after the deadline is still allowed."""


class Signer:
    """Holds the private key; servers hold the public one."""

    def __init__(self, key: Ed25519PrivateKey | Callable[[], Ed25519PrivateKey]) -> None:
        self._key = (lambda: key) if isinstance(key, Ed25519PrivateKey) else key

    @classmethod
    def from_settings(cls, settings: OrchestratorSettings) -> "Signer":
        """Raises SetupProblem when there is no usable key."""
        try:
            remedy = "make one with: openssl genpkey -algorithm ed25519 -out grant.pem"
            return cls(_PrivateKey(settings.needed_secret("grant_private_key", remedy)))
        except SecretProblem as problem:
            raise SetupProblem(str(problem)) from problem

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
        return jwt.encode(claims.model_dump(), self._key(), algorithm=ALGORITHM)

    def sign_approval(self, claims: ApprovalClaims) -> str:
        """A person's word on one call, as the servers check it."""
        return jwt.encode(claims.model_dump(), self._key(), algorithm=ALGORITHM)

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


class _PrivateKey:
    """The newest key of a secret, read again when it changes. Raises SetupProblem when there is no usable one."""

    def __init__(self, secret: Secret) -> None:
        self._secret, self._text = secret, secret.first
        self._key = _parse(self._text, secret.where)

    def __call__(self) -> Ed25519PrivateKey:
        if self._secret.first != self._text:
            self._text = self._secret.first
            try:
                self._key = _parse(self._text, self._secret.where)
            except SetupProblem as problem:
                log.error("%s; the key from before stays in use", problem)
        return self._key


def _parse(pem: str, where: str) -> Ed25519PrivateKey:
    try:
        key = load_pem_private_key(pem.encode(), password=None)
    except (ValueError, TypeError) as error:
        raise SetupProblem(f"{where} is not an unencrypted PEM private key: {error}") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise SetupProblem(f"{where} is a {type(key).__name__}; an Ed25519 key is needed")
    return key
