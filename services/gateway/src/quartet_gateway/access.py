"""Access to the gateway: which key opens which agents' models."""

from collections.abc import Mapping, Sequence

from quartet_gateway.errors import NotAllowedError, NotAuthenticatedError
from quartet_process import Secret, bearer_token, cross_site_reason, is_loopback


class Access:
    """Checks callers: by their key, or, where no keys are set, by coming from this machine and from no web page."""

    def __init__(self, keys: Sequence[tuple[Secret, frozenset[str]]]) -> None:
        """`keys`: each with the agents whose models it opens."""
        self._keys = tuple(keys)

    @property
    def open_to_loopback(self) -> bool:
        """Whether no keys are set, so that every caller on this machine is served."""
        return not self._keys

    def check(self, agent: str | None, headers: Mapping[str, str], client: str | None) -> None:
        """Raise NotAuthenticatedError or NotAllowedError unless the caller may use the model of `agent`.

        Args:
            agent: None: any valid key is enough.
            headers: Of the request, names in lower case.
            client: Address of the caller; None: not known.
        """
        if not self._keys:
            if not is_loopback(client):
                raise NotAuthenticatedError(
                    f"no gateway keys are configured, so only callers on this machine are served, not {client}; "
                    "set QUARTET_GATEWAY_KEY (or QUARTET_GATEWAY_KEY_<AGENT>) for gateway and agents"
                )
            if said := cross_site_reason(headers):
                raise NotAllowedError(
                    f"no gateway keys are configured, so {said} is refused; set QUARTET_GATEWAY_KEY for gateway and "
                    "callers"
                )
            return
        agents = self._agents_of(headers.get("authorization"))
        if agents is None:
            raise NotAuthenticatedError(
                "the gateway wants the header 'Authorization: Bearer <key>' with a key that it knows; "
                "give the agent the same QUARTET_GATEWAY_KEY as the gateway"
            )
        if agent is not None and agent not in agents:
            raise NotAllowedError(f"this key is for {', '.join(sorted(agents))}, not for '{agent}'")

    def _agents_of(self, authorization: str | None) -> frozenset[str] | None:
        given = bearer_token(authorization)
        # All keys are compared, so that the time taken tells nothing.
        found = [agents for secret, agents in self._keys if secret.accepts(given)]
        return frozenset().union(*found) if found else None
