"""The task to which a request is charged: that of the grant it carries."""

from collections.abc import Mapping, Sequence

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import ValidationError

from quartet_contracts import GRANT_HEADER, ISSUER, MODEL_AUDIENCE, ROBOT_AUDIENCE, TASK_HEADER, GrantClaims
from quartet_gateway.errors import GrantOutOfTimeError, NotAllowedError, NotAuthenticatedError
from quartet_process import InvalidTokenError, TokenOutOfTimeError
from quartet_process.signatures import TokenReader

REQUEST_HEADER = "X-Quartet-Request"


class TaskGrants:
    """Reads the task of a request from its grant; without keys, the headers are believed."""

    def __init__(self, keys: Sequence[Ed25519PublicKey] | None = None) -> None:
        """`keys`: those of the orchestrator, which signs the grants; None: anonymous development mode."""
        self._reader = None if keys is None else TokenReader(lambda: [(key, ISSUER) for key in keys], None)

    def read(self, headers: Mapping[str, str]) -> tuple[str, str]:
        """Return the ids of task and request; '' for a caller that works on none.

        `headers` are those of the request, found by any case of their names. Raises NotAuthenticatedError for a
        request without a valid grant, and NotAllowedError for one that names another task than its grant.
        """
        named = headers.get(TASK_HEADER, "")[:128]
        if self._reader is None:
            return named, headers.get(REQUEST_HEADER, "")[:128]
        token = headers.get(GRANT_HEADER)
        if token is None:
            raise NotAuthenticatedError(
                f"the gateway wants the header '{GRANT_HEADER}' with the grant of the request that the model works on"
            )
        try:
            claims = GrantClaims.model_validate(self._reader.read(token).claims)
        except TokenOutOfTimeError as error:
            raise GrantOutOfTimeError(f"the header '{GRANT_HEADER}' holds no valid grant: {error}") from error
        except (InvalidTokenError, ValidationError) as error:
            raise NotAuthenticatedError(f"the header '{GRANT_HEADER}' holds no valid grant: {error}") from error
        if claims.aud != MODEL_AUDIENCE and not claims.aud.startswith(ROBOT_AUDIENCE):
            raise NotAuthenticatedError(
                f"the header '{GRANT_HEADER}' holds a token for {claims.aud}, which is no grant"
            )
        if named and named != claims.task:
            raise NotAllowedError(f"the grant is for task '{claims.task}', not for '{named}' (header '{TASK_HEADER}')")
        return claims.task, claims.jti
