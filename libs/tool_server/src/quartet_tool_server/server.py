"""One MCP server for one robot: tools, gate, control endpoints."""

import asyncio
import functools
import inspect
import logging
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from fastmcp import FastMCP
from fastmcp.tools import FunctionTool
from fastmcp.tools import ToolResult as McpResult
from mcp_types import ToolAnnotations
from starlette.applications import Starlette
from starlette.middleware import Middleware

from quartet_contracts import GrantClaims, Latch, LatchFile
from quartet_contracts.tools import ToolResult
from quartet_process import Exposition, Secret
from quartet_robot_link import Robot
from quartet_site import PolicyFile, SiteFile
from quartet_tool_server import metrics as names
from quartet_tool_server.approvals import Approvals
from quartet_tool_server.calls import as_goal
from quartet_tool_server.control import add_control_routes
from quartet_tool_server.disconnect import DisconnectWatch
from quartet_tool_server.errors import Fenced, failure
from quartet_tool_server.fence import FenceStore
from quartet_tool_server.grants import GrantVerifier, caller
from quartet_tool_server.limits import MotionLimits
from quartet_tool_server.metrics import Families, Metrics
from quartet_tool_server.middleware import Gate, current_grant
from quartet_tool_server.motions import Motions
from quartet_tool_server.policy import Admission
from quartet_tool_server.results import as_tool_result
from quartet_tool_server.stateless import StatelessMCP

if TYPE_CHECKING:
    from quartet_tool_server.upstream import Proxy

log = logging.getLogger(__name__)

CONNECT_WAIT_S = 1.0
"""How long the first call waits for the bridge, to end what an earlier process left running."""

Function = Callable[..., Awaitable[ToolResult | McpResult]]
Limits = Callable[..., Awaitable[None] | None]
"""Takes a tool's arguments by name and raises InvalidArguments for values that robot.yaml or site.yaml rule out."""


class ToolServer:
    """What the tools of one server share.

    `name` is the server's name in tool names (nav2, moveit, perception, ros). `actions` are the action servers whose
    goals it sends. `verifier` checks the bearer tokens of HTTP requests. `caller` gives the grant of the request that
    is being served; an in-memory client has no token, so its owner hands in the grant here. With a `proxy`,
    third-party servers do the work of the tools that it maps. Without a `policy` the defaults of its file hold.
    Servers of one process share `families`, so that one /metrics tells of all of them.
    """

    def __init__(
        self,
        name: str,
        robot: Robot,
        site: SiteFile,
        *,
        state_dir: Path,
        verifier: GrantVerifier | None,
        caller: Callable[[], GrantClaims | None] = caller,
        actions: tuple[str, ...] = (),
        instructions: str = "",
        proxy: "Proxy | None" = None,
        policy: PolicyFile | None = None,
        beats_required: bool = False,
        families: Families | None = None,
        metrics_token: Secret | None = None,
    ) -> None:
        self.name, self.robot, self.site, self.actions = name, robot, site, actions
        self.verifier, self.proxy = verifier, proxy
        self.metrics = Metrics(name, robot.file.name, families)
        self.exposition = Exposition(name, self.metrics.registry, token=metrics_token)
        self.gauges: list[Callable[[], None]] = []
        """What a server measures beside the common ones, each before /metrics is answered."""
        self.health: dict[str, Callable[[], Any]] = {}
        """What /health says beside the bridge: a part of this server, and what gives its state."""
        self.meant: Callable[[dict[str, Any]], dict[str, Any]] = lambda _: {}
        """From the arguments of a call as they came, those that they say in another way, for the rules of the policy:
        perception has the name of what goes by its id."""
        self.fences = FenceStore(state_dir / f"fence-{name}-{robot.file.name}.json", robot.file.name)
        policy = policy or PolicyFile()
        self.limits = MotionLimits(
            policy, robot, site, agent=lambda: grant.sub if (grant := current_grant.get()) else "nobody"
        )
        approvals = Approvals(robot.file.name, [] if verifier is None else verifier.keys, policy.approval_wait_s)
        self._admission = Admission(policy, approvals)
        self.motions = Motions(
            robot,
            grant=current_grant.get,
            newest=lambda: self.fences.highest,
            server=name,
            beats_required=beats_required,
            check_goal=self.limits.check_goal,
        )
        self.latch = LatchFile(state_dir / f"stop-{name}-{robot.file.name}.json")
        if (kept := self.latch.read()).latched:
            self.motions.stopped = kept.reason
        self.fences.begin()
        if self.fences.restarted:
            self.motions.held = (
                f"this server has started anew and moves nothing before a fence above {self.fences.highest} is "
                "installed: the orchestrator does so with its next step; a client of your own needs a new grant "
                f"(quartet grant --fence {self.fences.highest + 1})"
            )
        self._arguments: dict[str, tuple[str, ...]] = {}
        self._defaults: dict[str, dict[str, Any]] = {}
        self._reading: set[str] = set()
        self._fence_lock, self._latch_lock = asyncio.Lock(), asyncio.Lock()
        self._settled = not actions
        """No goals are left that a process before this one sent and nobody follows."""
        gate = Gate(
            name,
            self.metrics,
            caller=caller,
            admit=self.admit,
            screen=self._screen,
            arguments=self._arguments.get,
        )
        self.mcp: FastMCP[Any] = StatelessMCP(
            name=f"quartet {name}", instructions=instructions or None, auth=verifier, middleware=[gate]
        )
        if proxy is not None:
            proxy.bind(self)
            self.health["upstreams"] = proxy.connected
        add_control_routes(self)

    def tool(
        self,
        function: Function | None = None,
        *,
        result: type[ToolResult] | None = None,
        read_only: bool = False,
        destructive: bool | None = None,
        limits: Limits | None = None,
    ) -> Any:
        """Decorator: serve an async function as a tool under its own name, its docstring as the description.

        It returns its result model, or, with `result` naming that model, what `as_tool_result(model, images)` gives.
        An exception becomes a failed result of the same model through `errors.failure`. `read_only` and `destructive`
        are told to clients as MCP's annotations: a tool that moves the robot or changes what it knows is destructive
        unless it says otherwise. `limits` judges the arguments before the tool is run, by whomever it is served: with a
        proxy it may be a third-party server, and a tool that is not mapped is not served.
        """
        if function is None:
            return functools.partial(
                self.tool, result=result, read_only=read_only, destructive=destructive, limits=limits
            )
        model = result or get_type_hints(function)["return"]
        signature = inspect.signature(function)
        arguments = tuple(signature.parameters)
        name = function.__name__
        run = function
        if self.proxy is not None:
            chosen = self.proxy.stand_in(name, function, model, read_only=read_only)
            if chosen is None:
                return function
            run = chosen

        @functools.wraps(function)
        async def served(*args: Any, **kwargs: Any) -> McpResult:
            try:
                bound = signature.bind(*args, **kwargs)
                bound.apply_defaults()
                if limits is not None and (judged := limits(**bound.arguments)) is not None:
                    await judged
                if run is not function and (goal := as_goal(name, bound.arguments, self.robot.file)) is not None:
                    await self.limits.check_goal(name, name, *goal)
                value = await run(*args, **kwargs)
            except Exception as error:
                value = model(**failure(error, tool=name, arguments=arguments))
            return value if isinstance(value, McpResult) else as_tool_result(value)

        served.__annotations__ = {**get_type_hints(function, include_extras=True), "return": McpResult}
        self._arguments[name] = arguments
        self.metrics.offers(name)
        self._defaults[name] = {
            key: item.default for key, item in signature.parameters.items() if item.default is not item.empty
        }
        if read_only:
            self._reading.add(name)
        self.mcp.add_tool(
            FunctionTool.from_function(
                served,
                name=name,
                description=inspect.getdoc(function),
                output_schema=model.model_json_schema(),
                annotations=ToolAnnotations(
                    read_only_hint=read_only,
                    destructive_hint=not read_only if destructive is None else destructive,
                    open_world_hint=False,
                ),
            )
        )
        return function

    def _screen(self, grant: GrantClaims, tool: str, given: dict[str, Any], responses: Any) -> McpResult | None:
        return self._admission.screen(
            grant,
            f"{self.name}__{tool}",
            given,
            defaults=self._defaults.get(tool, {}),
            counted=tool not in self._reading,
            responses=responses,
            meant=self.meant(given),
        )

    async def admit(self, grant: GrantClaims) -> None:
        """Let a grant in that is not older than the newest; a newer one is learned. Raises Fenced."""
        if grant.fence > self.fences.highest or not self._settled:
            await self.install_fence(grant.fence)
        if grant.fence < self.fences.highest:
            raise Fenced(
                f"fence {grant.fence} of '{grant.sub}' is older than {self.fences.highest}: a newer attempt has taken "
                "the robot over; stop working on this request"
            )

    async def install_fence(self, fence: int, *, explicit: bool = False) -> int:
        """Make `fence` the minimum (on disk first) and end the motions of older grants; the minimum that holds.

        A server that has started anew moves nothing before this was done with a newer fence, or by somebody who may
        install fences (`explicit`) and is not outdated.
        """
        async with self._fence_lock:
            newer = await asyncio.to_thread(self.fences.install, fence)
            if newer or (explicit and fence == self.fences.highest):
                self.motions.held = None
            if newer:
                await self.motions.cancel(f"a newer attempt (fence {fence}) took over", below_fence=fence)
            if not self._settled and await self.robot.link.wait_connected(CONNECT_WAIT_S):
                await self.motions.cancel_on_robot(self.actions)
                self._settled = True
        return self.fences.highest

    async def end_request(self, request_id: str, reason: str) -> list[str]:
        """Cancel what this request moves, and let it move nothing from now on."""
        self.motions.end_request(request_id, reason)
        return await self.motions.cancel(reason, request_id=request_id)

    async def stop(self, reason: str, *, latch: bool = False) -> list[str]:
        """Cancel everything that this server moves and wait for it to have ended; with `latch` nothing moves until
        `reset`, also after a restart.
        """
        if latch:
            self.motions.stopped = reason
        stops = [self.motions.cancel(reason), self.motions.cancel_on_robot(self.actions)]
        if latch:
            stops.append(self._keep(Latch(latched=True, reason=reason, since=time.time())))
        if self.proxy is not None:
            stops.append(self.proxy.stop())
        return sorted({name for names in await asyncio.gather(*stops) for name in names})

    async def reset(self) -> bool:
        """Let the server move the robot again; whether it was stopped."""
        was = self.motions.stopped is not None
        if was:
            await self._keep(Latch())
        self.motions.stopped = None
        return was

    async def _keep(self, latch: Latch) -> list[str]:
        try:
            async with self._latch_lock:
                await asyncio.to_thread(self.latch.write, latch)
        except OSError as error:
            log.error("%s cannot be written: %s; a restart would forget this", self.latch.path, error)
        return []

    def measure(self) -> None:
        """Bring the metrics that are looked at, not counted, up to date."""
        self.metrics.set(names.RUNNING, len(self.motions.running))
        self.metrics.set(names.FENCE, self.fences.highest)
        self.metrics.set(names.STOPPED, float(self.motions.stopped is not None))
        self.metrics.set(names.BRIDGE, float(self.robot.link.connected))
        self.metrics.set(names.RECONNECTS, self.robot.link.reconnects)
        for sender, age_s in self.motions.heartbeat_ages().items():
            self.metrics.set_heartbeat_age(sender, age_s)
        self.metrics.set(names.LAPSES, self.motions.lapses)
        self.metrics.set(names.GUARD_LATCHED, float(self.robot.guard.latched))
        for gauge in self.gauges:
            gauge()

    def app(self, path: str = "/mcp") -> Starlette:
        """The ASGI application: MCP at `path`, /control/fence, /control/stop, /health, /metrics."""
        return self.mcp.http_app(path=path, stateless_http=False, middleware=[Middleware(DisconnectWatch)])
