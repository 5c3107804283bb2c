"""The task to which a request is charged: that of the grant it carries."""

import time
from collections.abc import Mapping, Sequence

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import ValidationError

from quartet_contracts import GRANT_HEADER, ISSUER, MODEL_AUDIENCE, ROBOT_AUDIENCE, TASK_HEADER, GrantClaims
from quartet_gateway.errors import NotAllowedError, NotAuthenticatedError
from quartet_process import InvalidTokenError
from quartet_process.signatures import LEEWAY_S, read_token

REQUEST_HEADER = "X-Quartet-Request"
MOST_KEPT = 256
"""Grants whose signatures are remembered; beyond it all are checked anew."""


class TaskGrants:
    """Reads the task of a request from its grant; without keys, the headers are believed."""

    def __init__(self, keys: Sequence[Ed25519PublicKey] | None = None) -> None:
        """`keys`: those of the orchestrator, which signs the grants; None: anonymous development mode."""
        self._keys = keys
        self._checked: dict[str, GrantClaims] = {}
        self._checked_with: Sequence[Ed25519PublicKey] = ()

    def read(self, headers: Mapping[str, str]) -> tuple[str, str]:
        """Return the ids of task and request; '' for a caller that works on none.

        `headers` are those of the request, found by any case of their names. Raises NotAuthenticatedError for a
        request without a valid grant, and NotAllowedError for one that names another task than its grant.
        """
        named = headers.get(TASK_HEADER, "")[:128]
        if self._keys is None:
            return named, headers.get(REQUEST_HEADER, "")[:128]
        token = headers.get(GRANT_HEADER)
        if token is None:
            raise NotAuthenticatedError(
                f"the gateway wants the header '{GRANT_HEADER}' with the grant of the request that the model works on"
            )
        try:
            claims = self._claims(token, self._keys[:])
        except (InvalidTokenError, ValidationError) as error:
            raise NotAuthenticatedError(f"the header '{GRANT_HEADER}' holds no valid grant: {error}") from error
        if claims.aud != MODEL_AUDIENCE and not claims.aud.startswith(ROBOT_AUDIENCE):
            raise NotAuthenticatedError(
                f"the header '{GRANT_HEADER}' holds a token for {claims.aud}, which is no grant"
            )
        if named and named != claims.task:
            raise NotAllowedError(f"the grant is for task '{claims.task}', not for '{named}' (header '{TASK_HEADER}')")
        return claims.task, claims.jti

    def _claims(self, token: str, keys: Sequence[Ed25519PublicKey]) -> GrantClaims:
        """Return the claims of `token`, whose signature is checked at its first request with these keys.

        An agent sends the same grant with each request of a task. Raises InvalidTokenError and ValidationError.
        """
        if keys != self._checked_with or len(self._checked) >= MOST_KEPT:
            self._checked.clear()
            self._checked_with = keys
        claims = self._checked.get(token)
        if claims is None or claims.exp <= time.time() - LEEWAY_S:
            claims = GrantClaims.model_validate(read_token(token, ((key, ISSUER) for key in keys), None))
            self._checked[token] = claims
        return claims
