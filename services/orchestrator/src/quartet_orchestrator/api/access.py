"""Authentication of callers: every path but those that are open needs a credential."""

from collections.abc import Awaitable, Callable

from starlette.requests import HTTPConnection

from quartet_contracts import Role
from quartet_orchestrator.callers import Caller, caller_of
from quartet_orchestrator.errors import RequestError
from quartet_process import Secret, bearer_token, cross_site_reason

OPEN = frozenset({"/health", "/metrics"})
"""Paths without a credential of the API; the metrics have a token of their own."""

AuthenticationMethod = Callable[[HTTPConnection], Awaitable[Caller | None]]
"""Returns the caller, None when the request has no credential of this kind.

Raises RequestError for a request that is refused whatever other credential it has.
"""


class Authenticator:
    """Knows the callers of one orchestrator.

    Without `tokens` everybody is let in, which only a port on the loopback address may do. Those of `assistants`, the
    programs of models, have the role `submit`, whatever their lines say.
    """

    def __init__(self, tokens: Secret | None, assistants: Secret | None = None) -> None:
        self.tokens = tokens
        self._assistants = assistants
        self.methods: list[AuthenticationMethod] = [self._by_bearer]
        """Tried in order; the first that returns a caller counts."""

    async def check(self, connection: HTTPConnection) -> Caller:
        """Return the caller. Raises RequestError: 401 without a valid credential, 403 for a page of another origin."""
        if self.tokens is None:
            if said := cross_site_reason(connection.headers, own_pages=True):
                detail = f"no API token is configured, so {said} is refused; set QUARTET_API_TOKEN"
                raise RequestError(403, "Other origin", detail)
            return Caller()
        for method in self.methods:
            caller = await method(connection)
            if caller is not None:
                return caller
        raise RequestError(
            401,
            "Not authenticated",
            "send 'Authorization: Bearer <token>' with a token of this orchestrator (QUARTET_API_TOKEN); "
            "`quartet up` writes one to .quartet/up/secrets/cli/api_token",
        )

    async def _by_bearer(self, connection: HTTPConnection) -> Caller | None:
        given = bearer_token(connection.headers.get("authorization"))
        owner = self.tokens.owner_of(given) if self.tokens is not None and given else None
        if owner is not None:
            return caller_of(owner)
        known = self._assistants is not None and self._assistants.accepts(given)
        return Caller("assistant", frozenset({Role.SUBMIT})) if known else None

    @property
    def problems(self) -> list[str]:
        """Why lines of the files of tokens are ignored."""
        files = {"api_token": self.tokens, "assistant_token": self._assistants}
        # Looking at the values reads a file that has changed.
        return [f"{name}: {why}" for name, one in files.items() if one and one.values for why in one.ignored]
