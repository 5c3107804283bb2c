"""Who may ask for which agent's model."""

from collections.abc import Mapping, Sequence

from quartet_gateway.errors import NotAllowed, NotAuthenticated
from quartet_process import Secret, bearer, foreign_page, is_loopback


class Access:
    """With keys: the bearer decides. Without: callers on this machine only, and no web pages in its browsers."""

    def __init__(self, keys: Sequence[tuple[Secret, frozenset[str]]]) -> None:
        """`keys`, each with the agents that it may ask for."""
        self._keys = tuple(keys)

    @property
    def open_to_loopback(self) -> bool:
        return not self._keys

    def check(self, agent: str | None, headers: Mapping[str, str], client: str | None) -> None:
        """Raises NotAuthenticated or NotAllowed. `agent` None: any key will do; `headers` in lower case."""
        if not self._keys:
            if not is_loopback(client):
                raise NotAuthenticated(
                    f"no gateway keys are configured, so only callers on this machine are served, not {client}; "
                    "set QUARTET_GATEWAY_KEY (or QUARTET_GATEWAY_KEY_<AGENT>) for gateway and agents"
                )
            if said := foreign_page(headers):
                raise NotAllowed(
                    f"no gateway keys are configured, so {said} is refused; set QUARTET_GATEWAY_KEY for gateway and "
                    "callers"
                )
            return
        agents = self._agents_of(headers.get("authorization"))
        if agents is None:
            raise NotAuthenticated(
                "the gateway wants the header 'Authorization: Bearer <key>' with a key that it knows; "
                "give the agent the same QUARTET_GATEWAY_KEY as the gateway"
            )
        if agent is not None and agent not in agents:
            raise NotAllowed(f"this key is for {', '.join(sorted(agents))}, not for '{agent}'")

    def _agents_of(self, authorization: str | None) -> frozenset[str] | None:
        given = bearer(authorization)
        # All keys are compared, so that the time taken tells nothing.
        found = [agents for secret, agents in self._keys if secret.accepts(given)]
        return frozenset().union(*found) if found else None
