"""Control endpoints of the servers: installs a robot's fence there, and ends the motions of a request."""

import asyncio
import logging
import time
from collections.abc import Callable
from functools import partial

import httpx2

from quartet_agent_runtime import CLOCK_PATIENCE_S, is_out_of_time
from quartet_bus import Bus, BusError, LeaseEpoch, LeaseLostError
from quartet_contracts import MOTION_SERVERS, STOP_SCOPE, control_url
from quartet_orchestrator.errors import FenceRefusedError
from quartet_orchestrator.grants import GrantSigner
from quartet_orchestrator.settings import OrchestratorSettings
from quartet_process.bounded_answers import control_client

log = logging.getLogger(__name__)
RETRY_S = 0.25
GONE_S = 2.0
"""Time limit for a server that did not answer the last time."""
END_S = 6.0
"""How long a server that is away is asked to end a request: one that restarts is back by then."""
TRY_S = 3.0
"""Time limit for one try."""
TELL_S = 1.0
"""Time limit for a server that no motion of a task needs; it is told again with the next fence."""


class FenceClient:
    """Calls the servers under fence grants; one per process."""

    def __init__(self, bus: Bus, signer: GrantSigner, settings: OrchestratorSettings) -> None:
        self._bus = bus
        self._signer = signer
        self._settings = settings
        self._gone: set[str] = set()
        """Endpoints that did not answer the last time."""
        self._http = control_client(TRY_S)

    async def close(self) -> None:
        """Close the HTTP client."""
        await self._http.aclose()

    async def raise_fence(self, robot: str, request_id: str, lease_epoch: LeaseEpoch | None = None) -> int:
        """Return a new fence that every motion server of `robot` has persisted.

        The other servers get it too, and so refuse the grants before it; one that does not answer hinders nothing.
        Raises FenceRefusedError, and LeaseLostError when another replica owns the task of `lease_epoch` by now.
        """
        servers = self._settings.servers_of(robot)
        missing = [name for name in MOTION_SERVERS if name not in servers]
        if missing:
            raise FenceRefusedError(
                f"robot '{robot}' has no server {' and '.join(missing)}; QUARTET_SERVERS has: {', '.join(servers)}"
            )
        highest = 0
        for _ in range(3):
            fence = await self._bus.fences.next(robot, at_least=highest + 1, lease_epoch=lease_epoch)
            sign = partial(self._signer.sign_fence, robot=robot, request_id=request_id, fence=fence)
            answers = await asyncio.gather(
                *(self._install(name, servers[name], sign) for name in MOTION_SERVERS),
                *(self._tell(name, url, sign) for name, url in servers.items() if name not in MOTION_SERVERS),
            )
            # A server may know a higher fence than the store when the store lost its data.
            highest = max(answers)
            if highest <= fence:
                return fence
        raise FenceRefusedError(
            f"robot '{robot}' is being taken over by another orchestrator: its servers know fence {highest}"
        )

    async def revoke(self, robot: str, request_id: str, lease_epoch: LeaseEpoch | None = None) -> bool:
        """End the motions and the grant of a request by a newer fence; return whether every server has installed it.

        For an agent that does not report whether the robot rests: the servers enforce the fence whatever it does.
        """
        try:
            await self.raise_fence(robot, request_id, lease_epoch)
        except LeaseLostError:
            raise
        except (FenceRefusedError, BusError) as error:
            log.error("the motions of request %s could not be ended: %s", request_id, error)
            return False
        return True

    async def end_motions(self, robot: str, request_id: str, reason: str) -> None:
        """End the motions of one request at the servers, without a latch. Logs failures, raises nothing.

        The agent gets a cancel as well; the servers act at once, also when the agent does not. A server that is away
        is told when it is back within END_S: what has ended it does not let the agent begin anew.
        """
        sign = partial(self._sign_stop, robot, request_id)
        servers = self._settings.servers_of(robot)
        await asyncio.gather(
            *(
                self._end(name, servers[name], sign, {"request_id": request_id, "reason": reason[:500]})
                for name in MOTION_SERVERS
                if name in servers
            )
        )

    def _sign_stop(self, robot: str, request_id: str) -> str:
        return self._signer.sign(
            agent="orchestrator", robot=robot, request_id=request_id, fence=0, tools=[STOP_SCOPE], deadline=time.time()
        )

    async def _end(self, name: str, url: str, sign: Callable[[], str], order: dict[str, str]) -> None:
        endpoint = control_url(url, "stop")
        try:
            answer = await self._post(endpoint, sign, END_S, order)
            answer.raise_for_status()
        except httpx2.HTTPError as error:
            log.error("server '%s' did not end request %s at %s: %s", name, order["request_id"], endpoint, error)

    async def _tell(self, name: str, url: str, sign: Callable[[], str]) -> int:
        """Install a fence at a server that the task can do without; return the fence in force there, 0 if not known."""
        try:
            async with asyncio.timeout(TELL_S):
                return await self._install(name, url, sign, patience_s=0.0)
        except (FenceRefusedError, TimeoutError) as error:
            log.warning("server '%s' still takes grants from before the newest fence: %s", name, error)
            return 0

    async def _install(self, name: str, url: str, sign: Callable[[], str], patience_s: float | None = None) -> int:
        """Install a fence at one server within `patience_s`; return the fence in force there afterwards."""
        endpoint = control_url(url, "fence")
        try:
            answer = await self._post(
                endpoint, sign, self._settings.fence_timeout_s if patience_s is None else patience_s
            )
        except httpx2.TransportError as error:
            raise FenceRefusedError(
                f"server '{name}' does not answer at {endpoint} ({type(error).__name__}: {error}); nothing may "
                "move without it. Start it or correct QUARTET_SERVERS"
            ) from error
        if answer.status_code in {200, 409}:
            return _fence_of(answer, name, endpoint)
        wrong_key = answer.status_code in {401, 403} and not is_out_of_time(answer)
        keys = ". Do its public key and the orchestrator's private key match?" if wrong_key else ""
        raise FenceRefusedError(
            f"server '{name}' at {endpoint} refused the fence with {answer.status_code}: {answer.text[:600]}{keys}"
        )

    async def _post(
        self, endpoint: str, sign: Callable[[], str], patience_s: float, order: dict[str, str] | None = None
    ) -> httpx2.Response:
        """POST `order` to a control endpoint, again while its server is away or cannot act, within `patience_s`.

        `sign` returns the grant; it is signed anew for each try, since this machine's clock may have been the wrong
        one. A server that did not answer the last time is waited for GONE_S at most. Raises TransportError.
        """
        began = time.monotonic()
        end = began + (min(GONE_S, patience_s) if endpoint in self._gone else patience_s)
        while True:
            try:
                answer = await self._try(endpoint, order, sign())
            except httpx2.TransportError:
                if time.monotonic() >= end:
                    self._gone.add(endpoint)
                    raise
            else:
                self._gone.discard(endpoint)
                # 5xx: it cannot act now, such as on a full disk. Out of time: its clock or this one was set, such as
                # after a machine slept.
                soon = is_out_of_time(answer) and time.monotonic() < began + CLOCK_PATIENCE_S
                if time.monotonic() >= end or not (answer.status_code >= 500 or soon):
                    return answer
            await asyncio.sleep(RETRY_S)

    async def _try(self, endpoint: str, order: dict[str, str] | None, grant: str) -> httpx2.Response:
        """POST once. Raises TransportError, also for an answer that is not whole within TRY_S."""
        try:
            async with asyncio.timeout(TRY_S):
                return await self._http.post(endpoint, json=order, headers={"Authorization": f"Bearer {grant}"})
        except TimeoutError:
            raise httpx2.ReadTimeout(f"its answer was not whole within {TRY_S:g} s") from None


def _fence_of(answer: httpx2.Response, name: str, endpoint: str) -> int:
    try:
        return int(answer.json()["fence"])
    except (ValueError, KeyError, TypeError) as error:
        raise FenceRefusedError(
            f"server '{name}' at {endpoint} answered without a fence: {answer.text[:300]}"
        ) from error
