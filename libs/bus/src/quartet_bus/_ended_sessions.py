"""Sessions of the web page that were ended before their time, for every replica of the orchestrator."""

from quartet_bus._part import Part


class EndedSessions(Part):
    """Remembers a session that was ended until it would have ended by itself."""

    async def add(self, session_id: str, until: float) -> None:
        """End a session that would last until `until` (seconds since the epoch)."""
        await self._store.call("SET", self._keys.ended_session(session_id), "1", "PXAT", round(until * 1000))

    async def contains(self, session_id: str) -> bool:
        """Return whether the session was ended."""
        return bool(await self._store.call("EXISTS", self._keys.ended_session(session_id)))
