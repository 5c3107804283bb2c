"""Who may ask for which agent's model."""

import hmac
import ipaddress
from collections.abc import Mapping

from quartet_gateway.errors import NotAllowed, NotAuthenticated


class Access:
    """With keys: the bearer decides. Without: callers on this machine only."""

    def __init__(self, keys: Mapping[str, frozenset[str]]) -> None:
        self._keys = dict(keys)

    @property
    def open_to_loopback(self) -> bool:
        return not self._keys

    def check(self, agent: str | None, authorization: str | None, client: str | None) -> None:
        """Raises NotAuthenticated or NotAllowed. `agent` None: any key will do."""
        if not self._keys:
            if not _is_loopback(client):
                raise NotAuthenticated(
                    f"no gateway keys are configured, so only callers on this machine are served, not {client}; "
                    "set QUARTET_GATEWAY_KEY (or QUARTET_GATEWAY_KEY_<AGENT>) for gateway and agents"
                )
            return
        agents = self._agents_of(authorization)
        if agents is None:
            raise NotAuthenticated(
                "the gateway wants the header 'Authorization: Bearer <key>' with a key that it knows; "
                "give the agent the same QUARTET_GATEWAY_KEY as the gateway"
            )
        if agent is not None and agent not in agents:
            raise NotAllowed(f"this key is for {', '.join(sorted(agents))}, not for '{agent}'")

    def _agents_of(self, authorization: str | None) -> frozenset[str] | None:
        scheme, _, given = (authorization or "").partition(" ")
        found = None
        for key, agents in self._keys.items():
            # All keys are compared, so that the time taken tells nothing.
            if hmac.compare_digest(key.encode(), given.strip().encode()) and scheme.lower() == "bearer":
                found = agents
        return found


def _is_loopback(client: str | None) -> bool:
    try:
        return client is not None and ipaddress.ip_address(client).is_loopback
    except ValueError:
        return False
