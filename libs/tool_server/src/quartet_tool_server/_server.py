"""One MCP server for one robot: its tools, their authorization, the control endpoints."""

import contextlib
import functools
import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_type_hints

from fastmcp import FastMCP
from fastmcp.tools import FunctionTool
from fastmcp.tools import ToolResult as McpResult
from mcp_types import ToolAnnotations
from starlette.applications import Starlette
from starlette.middleware import Middleware

from quartet_contracts import GrantClaims
from quartet_contracts.tools import CommonCode, ToolResult
from quartet_process import Exposition, Secret
from quartet_robot_link import Message, MotionOutcome, Robot
from quartet_safety.motion import MotionLease
from quartet_site import PolicyFile, RobotFile, SiteFile, normalise
from quartet_tool_server import metrics as names
from quartet_tool_server._approvals import PendingApprovals
from quartet_tool_server._control import ControlEndpoints
from quartet_tool_server._disconnect import DisconnectWatch
from quartet_tool_server._goal_runner import Progress, run_goal
from quartet_tool_server._grants import GrantVerifier, caller, current_grant
from quartet_tool_server._limits import MotionLimits
from quartet_tool_server._middleware import CallAuthorization
from quartet_tool_server._policy import CallPolicy
from quartet_tool_server._repeated_ids import OneRequestForEachId
from quartet_tool_server._safety_controller import SafetyController
from quartet_tool_server._tool_entry import Around, Function, Goal, Limits, ToolEntry, as_tool_result
from quartet_tool_server._web_pages import NoWebPages
from quartet_tool_server.errors import failure
from quartet_tool_server.metrics import Families, Metrics

if TYPE_CHECKING:
    from quartet_tool_server.upstream import Proxy

from typing import NoReturn

KEPT_S = 60
"""How long a client may keep the list of tools [s] (SEP-2549): so long after an update of the server, an agent may show
its model the old descriptions."""


class _NoState:
    async def get(self, *, key: str) -> None:
        """Nothing is known of anybody."""

    async def put(self, **_: Any) -> NoReturn:
        raise NotImplementedError("these servers keep no state of sessions; keep it in the server itself")

    delete = put


class StatelessMCP(FastMCP[Any]):
    """A server without the state of sessions; `Context.set_state` raises NotImplementedError.

    For every list and call of a client with a token, fastmcp looks up which tools that client has hidden from itself,
    in a store that brings 13 MB of packages (key_value, beartype). No tool of ours keeps or changes such a state.
    """

    # fastmcp has no setting for it; the image tests see to it that this still takes effect.
    @property
    def _state_store(self) -> Any:
        return _NoState()

    def look_up_schemas(self, schema_of: Callable[[str], Mapping[str, Any] | None]) -> None:
        """Find the input schema of a tool with `schema_of`.

        Of each call over HTTP, mcp compares arguments with headers where the schema has an x-mcp-header. By default it
        makes the caller's list of all tools for it, at 20 tools in some 20 ms. fastmcp has no setting for it either.
        """
        self._mcp_server.get_tool_input_schema = schema_of


@dataclass(frozen=True)
class ServerSpec:
    """Specification of a server: its name in tool names, its tools, the action servers whose goals it sends."""

    name: str
    register: Callable[["ToolServer"], None]
    instructions: str = ""
    actions: Callable[[RobotFile, SiteFile], tuple[str, ...]] = lambda robot, site: ()
    canceled_code: str = CommonCode.CANCELED
    """Code of a motion that was canceled."""


class ToolServer:
    """The MCP server of `spec` for one robot; ready to serve once it is made.

    `safety` is what may move the robot. `verifier` checks the bearer tokens of HTTP requests. `caller` returns the
    grant of the request that is being served; an in-memory client has no token, so its owner hands in the grant here.
    With an `upstream`, third-party servers do the work of the tools that it serves. Servers of one process share
    `families`, so that one /metrics reports all of them.
    """

    def __init__(
        self,
        spec: ServerSpec,
        robot: Robot,
        site: SiteFile,
        safety: SafetyController,
        *,
        policy: PolicyFile,
        verifier: GrantVerifier | None,
        caller: Callable[[], GrantClaims | None] = caller,
        upstream: "Proxy | None" = None,
        families: Families | None = None,
        metrics_token: Secret | None = None,
    ) -> None:
        self.name, self.robot, self.site, self.safety = spec.name, robot, site, safety
        self.leases, self.upstream = safety.leases, upstream
        self.metrics = Metrics(spec.name, robot.file.name, families)
        self.exposition = Exposition(spec.name, self.metrics.registry, token=metrics_token)
        self.gauges: list[Callable[[], None]] = []
        """Functions that update a server's own metrics, called before /metrics is answered."""
        self.health: dict[str, Callable[[], Any]] = {"tools": lambda: sorted(self._tools)}
        """Parts that /health reports beside the bridge, and the functions that return their state."""
        self.policy_arguments: Callable[[str, dict[str, Any]], dict[str, Any]] = lambda _tool, _given: {}
        """From tool and arguments of a call, further ones for the policy's rules: perception resolves ids to names."""
        self.limits = MotionLimits(
            policy, robot, site, agent=lambda: grant.sub if (grant := current_grant.get()) else "nobody"
        )
        approvals = PendingApprovals(robot.file.name, [] if verifier is None else verifier.keys, policy.approval_wait_s)
        self._policy = CallPolicy(policy, approvals, names=_names_by_alias(site))
        self._tools: dict[str, ToolEntry] = {}
        self._input_schemas: dict[str, dict[str, Any]] = {}
        authorization = CallAuthorization(
            spec.name,
            self.metrics,
            caller=caller,
            admit=safety.admit,
            screen=self._screen,
            arguments=lambda tool: None if (entry := self._tools.get(tool)) is None else entry.arguments,
            reads=lambda tool: (entry := self._tools.get(tool)) is None or entry.read_only,
        )
        self.mcp = StatelessMCP(
            name=f"quartet {spec.name}",
            instructions=spec.instructions or None,
            auth=verifier,
            middleware=[authorization],
            cache_ttl=KEPT_S,
        )
        ControlEndpoints(
            safety,
            verifier,
            self.metrics,
            self.exposition,
            health=lambda: {name: state() for name, state in self.health.items()},
            measure=self.measure,
        ).add_to(self.mcp)
        self.mcp.look_up_schemas(self._input_schemas.get)
        if upstream is not None:
            self.health["upstreams"] = upstream.connected
        spec.register(self)
        if upstream is not None:
            upstream.check()

    def tool(
        self,
        function: Function | None = None,
        *,
        result: type[ToolResult] | None = None,
        read_only: bool = False,
        destructive: bool | None = None,
        moves: str | None = None,
        cancels: str | None = None,
        limits: Limits | None = None,
        goal: Goal | None = None,
        around: Around = contextlib.nullcontext,
    ) -> Any:
        """Decorator: serve an async function as a tool under its own name, its docstring as the description.

        It returns its result model, or, with `result` naming that model, what `as_tool_result(model, images)` gives.
        An exception becomes a failed result of the same model through `errors.failure`. `read_only` and `destructive`
        are told to clients as MCP's annotations: a tool that moves the robot or changes what it knows is destructive
        unless it says otherwise. `moves` and `cancels` name the channel that it moves, or whose motions it cancels.
        `limits` checks the arguments before the tool runs. `goal` says which goal the arguments amount to, so that the
        policy can check it also where a third-party server moves the robot. `around` is entered around the tool, also
        where a third-party server does its work.
        """
        if function is None:
            return functools.partial(
                self.tool,
                result=result,
                read_only=read_only,
                destructive=destructive,
                moves=moves,
                cancels=cancels,
                limits=limits,
                goal=goal,
                around=around,
            )
        entry = ToolEntry(
            function.__name__,
            function,
            result or get_type_hints(function)["return"],
            inspect.signature(function),
            read_only,
            moves,
            cancels,
            limits,
            goal,
            around,
        )
        run = function if self.upstream is None else self.upstream.stand_in(entry)
        if run is None:
            return function
        self._tools[entry.name] = entry
        self.metrics.offers(entry.name)
        served = FunctionTool.from_function(
            self._served(entry, run),
            name=entry.name,
            description=inspect.getdoc(function),
            output_schema=entry.model.model_json_schema(),
            annotations=ToolAnnotations(
                read_only_hint=read_only,
                destructive_hint=not read_only if destructive is None else destructive,
                open_world_hint=False,
            ),
        )
        self._input_schemas[entry.name] = served.parameters
        self.mcp.add_tool(served)
        return function

    async def run_goal(
        self,
        lease: MotionLease,
        action: str,
        action_type: str,
        goal: Message,
        *,
        limit_s: float,
        progress: Progress | None = None,
        generic: bool = False,
    ) -> MotionOutcome:
        """Run one goal under `lease` to its end, if the policy allows it; `limit_s` is ROS time.

        `generic`: the goal is the caller's own, not built by the tool. Raises as `goal_runner.run_goal`.
        """
        return await run_goal(
            lease,
            self.robot,
            action,
            action_type,
            goal,
            limit_s=limit_s,
            progress=progress,
            check=functools.partial(self.limits.check_goal, generic=generic),
        )

    def measure(self) -> None:
        """Update the metrics that are sampled, not counted."""
        leases, link = self.leases, self.robot.link
        self.metrics.set(names.RUNNING, len(leases.running))
        self.metrics.set(names.FENCE, self.safety.fences.highest)
        self.metrics.set(names.STOPPED, float(leases.stopped is not None))
        self.metrics.set(names.BRIDGE, float(link.connected))
        self.metrics.set(names.RECONNECTS, link.reconnects)
        for sender, age_s in leases.heartbeat_ages().items():
            self.metrics.set_heartbeat_age(sender, age_s)
        self.metrics.set(names.LAPSES, leases.lapses)
        self.metrics.set(names.GUARD_LATCHED, float(self.robot.guard.latched))
        for gauge in self.gauges:
            gauge()

    def app(self, path: str = "/mcp", known_hosts: Collection[str] = ()) -> Starlette:
        """Return the ASGI application: MCP at `path`, /control/fence, stop, reset and beat, /health, /metrics.

        Web pages may call none of it. `known_hosts` are names of this machine beside those without a dot.
        """
        pages = Middleware(NoWebPages, known_hosts=frozenset(name.lower() for name in known_hosts))
        layers = [pages, Middleware(OneRequestForEachId), Middleware(DisconnectWatch)]
        return self.mcp.http_app(path=path, stateless_http=False, middleware=layers)

    def _served(self, entry: ToolEntry, run: Function) -> Callable[..., Awaitable[McpResult]]:
        """Return `run` with limits, error map and MCP result around it."""

        @functools.wraps(entry.function)
        async def served(*args: Any, **kwargs: Any) -> McpResult:
            try:
                bound = entry.signature.bind(*args, **kwargs)
                bound.apply_defaults()
                if entry.limits is not None and (checking := entry.limits(**bound.arguments)) is not None:
                    await checking
                if run is not entry.function and entry.goal and (goal := entry.goal(**bound.arguments)) is not None:
                    await self.limits.check_goal(entry.name, entry.name, *goal)
                async with entry.around():
                    value = await run(*args, **kwargs)
            except Exception as error:
                value = entry.model(**failure(error, tool=entry.name, arguments=entry.arguments))
            return value if isinstance(value, McpResult) else as_tool_result(value)

        served.__annotations__ = {**get_type_hints(entry.function, include_extras=True), "return": McpResult}
        return served

    def _screen(self, grant: GrantClaims, tool: str, given: dict[str, Any], responses: Any) -> McpResult | None:
        entry = self._tools.get(tool)
        return self._policy.screen(
            grant,
            f"{self.name}__{tool}",
            given,
            defaults={} if entry is None else entry.defaults,
            counted=entry is None or not entry.read_only,
            responses=responses,
            resolved=self.policy_arguments(tool, given),
        )


def _names_by_alias(site: SiteFile) -> dict[str, str]:
    """Return the name of each alias of the site, both normalised."""
    named = (*site.areas, *site.surfaces, *site.containers, *site.objects)
    return {normalise(alias): normalise(entry.name) for entry in named for alias in entry.aliases}
