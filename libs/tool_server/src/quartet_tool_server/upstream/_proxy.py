"""Serves tools of ours by asking upstreams."""

import asyncio
import functools
import logging
from collections.abc import Sequence
from contextvars import copy_context
from typing import Any

import anyio
from fastmcp.tools import ToolResult as McpResult
from pydantic import TypeAdapter

from quartet_contracts import Skill, granted_tools
from quartet_contracts.tools import CommonCode, ToolResult
from quartet_contracts.tools.perception import PerceptionCode
from quartet_robot_link import Robot
from quartet_safety.motion import CanceledError, MotionLease
from quartet_site import SiteFile, SiteFileError
from quartet_tool_server._goal_runner import report_progress
from quartet_tool_server._safety_controller import SafetyController
from quartet_tool_server._tool_entry import Function, ToolEntry
from quartet_tool_server.errors import InvalidArgumentsError, ToolError
from quartet_tool_server.upstream._answers import Answer, check, judge, passes, read, unknown
from quartet_tool_server.upstream._conversions import Context
from quartet_tool_server.upstream._mapping import Call, MappedTool, UpstreamMapping, Value
from quartet_tool_server.upstream._session import Session, UpstreamError, UpstreamUnavailableError
from quartet_tool_server.upstream._values import ROOTS, NotUnderstoodError, take_all

log = logging.getLogger(__name__)

STOP_LIMIT_S = 3.0
"""Wall time of a call that stops something, within which the stopped call is given the time to end by itself."""

NAMING_IDS = {"object_id", "object_ids", "target_id"}
"""Arguments that are object ids of our own perception server."""
OBJECT_IDS = {*NAMING_IDS, "held_id"}

_anything = TypeAdapter[Any](Any)


class Proxy:
    """The upstreams of one server. `bind` it to the server before its tools are registered."""

    def __init__(
        self,
        mapping: UpstreamMapping,
        server: str,
        robot: Robot,
        site: SiteFile,
        safety: SafetyController,
        *,
        canceled_code: str = CommonCode.CANCELED,
    ) -> None:
        if server != mapping.server:
            raise SiteFileError(f"the mapping file is for server '{mapping.server}', this is '{server}'")
        self.mapping, self._robot, self._safety, self._canceled_code = mapping, robot, safety, canceled_code
        self._sessions = {name: Session(name, upstream) for name, upstream in mapping.upstreams.items()}
        self._offered: set[str] = set()
        self.context = Context(robot, site)
        self.robot_facts: dict[str, Any] = robot.file.model_dump(mode="json")
        safety.on_stop.append(self.stop)

    def stand_in(self, entry: ToolEntry) -> Function | None:
        """Return what serves a tool in place of its function.

        This is the function itself for a tool of `own`, None for one that is not mapped. Raises SiteFileError for a
        mapping that does not fit the tool.
        """
        name, function = entry.name, entry.function
        self._offered.add(name)
        if name in self.mapping.own:
            return function
        mapped = self.mapping.tools.get(name)
        if mapped is None:
            return None
        signature = entry.signature
        self._check_entry(entry, mapped)

        @functools.wraps(function)
        async def ask(*args: Any, **kwargs: Any) -> McpResult:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            given: dict[str, Any] = _anything.dump_python(dict(bound.arguments), mode="json", exclude_none=True)
            return await self._serve(entry, mapped, {k: v for k, v in given.items() if v is not None})

        return ask

    def check(self) -> list[str]:
        """Check the mapping once all tools are registered; return tools that our agents need and that nothing serves.

        Raises SiteFileError for names that are no tools of the server.
        """
        unknown_names = sorted(({*self.mapping.tools, *self.mapping.own}) - self._offered)
        if unknown_names:
            raise SiteFileError(
                f"the mapping file of '{self.mapping.server}' names {', '.join(unknown_names)}, which it has not; "
                f"valid: {', '.join(sorted(self._offered))}"
            )
        served = {*self.mapping.tools, *self.mapping.own}
        prefix = f"{self.mapping.server}__"
        missing: dict[str, list[str]] = {}
        for skill in Skill:
            for scope in granted_tools(skill):
                if scope.startswith(prefix) and scope.removeprefix(prefix) not in served:
                    missing.setdefault(scope, []).append(skill.value)
        found = [f"{scope} ({', '.join(skills)})" for scope, skills in missing.items()]
        if found:
            log.warning(
                "agents need tools that the mapping does not cover: %s; add them under tools, or under own to have "
                "them served over rosbridge",
                ", ".join(found),
            )
        return found

    async def survey(self) -> dict[str, list[str]]:
        """Return the faults of each upstream and log them; an upstream may also start later."""
        wrong = {name: await self._lacking(name, session) for name, session in self._sessions.items()}
        for name, faults in wrong.items():
            for fault in faults:
                log.warning("upstream '%s': %s", name, fault)
        return wrong

    def connected(self) -> dict[str, bool]:
        """Return for each upstream whether a session is open."""
        return {name: session.connected for name, session in self._sessions.items()}

    def session(self, name: str) -> Session:
        """The session with an upstream."""
        return self._sessions[name]

    async def stop(self) -> list[str]:
        """Call what the mapping names to bring the robot to rest; the tools that answered."""
        return await self._stop_calls(self.mapping.stop, {})

    async def close(self) -> None:
        """End all sessions."""
        await asyncio.gather(*(session.close() for session in self._sessions.values()))

    async def _serve(self, entry: ToolEntry, mapped: MappedTool, given: dict[str, Any]) -> McpResult:
        name, model = entry.name, entry.model
        if entry.cancels is not None:
            await self._safety.leases.cancel(f"{name} was called", channels=(entry.cancels,))
        given = _without_ids(name, mapped, given)
        arguments = await self.arguments(mapped.arguments, given)
        run = _Run(self, mapped, given, entry.moves)
        if entry.moves is None:
            return await self._result(run, await self._ask(name, run, arguments), model)
        try:
            return await self._moved(entry.moves, name, run, arguments, model)
        except CanceledError as error:
            raise ToolError(str(error), code=self._canceled_code) from error

    async def _moved(
        self, channel: str, name: str, run: "_Run", arguments: dict[str, Any], model: type[ToolResult]
    ) -> McpResult:
        async with self._safety.leases.acquire(channel, name) as lease:
            answer = await self._move(lease, run, arguments)
            try:
                return await self._result(run, answer, model)
            except ToolError as error:
                # A motion that the guard ended is no failure of the upstream.
                if error.code in (CommonCode.CANCELED, self._canceled_code):
                    await lease.explain_cancel()
                elif error.code == CommonCode.UNKNOWN:
                    await self._halt(run)
                await lease.check_guard(settle=True)
                raise

    async def _result(self, run: "_Run", answer: Answer, model: type[ToolResult]) -> McpResult:
        roots = answer.roots(run.given, self.robot_facts)
        return await judge(
            run.upstream,
            run.mapped,
            self.mapping.errors,
            answer,
            roots,
            model,
            self.context,
            moved=run.moves is not None,
        )

    async def _ask(self, name: str, run: "_Run", arguments: dict[str, Any]) -> Answer:
        """One call that moves nothing, within its limit. Raises ToolError."""
        try:
            async with asyncio.timeout(run.mapped.limit_s):
                return await run.answer(name, arguments)
        except TimeoutError:
            raise _late(run, moved=False) from None
        except UpstreamError as error:
            raise _unreached(error, moved=False) from error
        except NotUnderstoodError as error:
            raise unknown(f"'{run.upstream}' answered {error}", moved=False) from error

    async def _move(self, lease: MotionLease, run: "_Run", arguments: dict[str, Any]) -> Answer:
        """One motion to its end. Whatever ends it early brings the robot to rest before this returns."""
        await lease.ready()
        work = asyncio.create_task(run.answer(lease.tool, arguments))
        canceled = asyncio.create_task(lease.canceled.wait())
        try:
            await asyncio.wait([work, canceled], timeout=run.mapped.limit_s, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                await self._halt(run, work)
                lease.check()
                raise _late(run, moved=True)
            try:
                return work.result()
            except UpstreamError as error:
                if run.begun:
                    await self._halt(run, work)
                lease.check()
                raise _unreached(error, moved=bool(run.begun)) from error
            except NotUnderstoodError as error:
                await self._halt(run)
                raise unknown(f"'{run.upstream}' answered {error}", moved=True) from error
        except asyncio.CancelledError:
            lease.cancel("the caller gave the call up")
            with anyio.CancelScope(shield=True):
                await self._halt(run, work)
            raise
        finally:
            work.cancel()
            canceled.cancel()
            await asyncio.gather(work, canceled, return_exceptions=True)

    async def _halt(self, run: "_Run", work: "asyncio.Task[Answer] | None" = None) -> None:
        """Stop at the upstream and past it, over the robot's rosbridge, and let the call end.

        Also where the call has ended and nobody knows what it has left behind.
        """
        gripper = self._robot.file.actions.gripper
        actions = (gripper,) if run.moves == "gripper" else self._safety.actions
        stops = [
            asyncio.ensure_future(self._safety.cancel_on_robot(actions)),
            asyncio.ensure_future(
                self._stop_calls([*(run.named(call) for call in run.mapped.stop), *self.mapping.stop], run.begun)
            ),
        ]
        if work is not None:
            await asyncio.wait([work], timeout=STOP_LIMIT_S)
        await asyncio.gather(*stops)

    async def _stop_calls(self, calls: Sequence[Call], begun: dict[str, Any]) -> list[str]:
        """Those whose arguments are known; each on its own, within STOP_LIMIT_S."""

        async def stop(call: Call) -> str | None:
            name = self.mapping.upstream_of(call.upstream)
            try:
                arguments = await take_all(call.arguments, begun, self.context)
                if len(arguments) == len(call.arguments):
                    async with asyncio.timeout(STOP_LIMIT_S):
                        await self._sessions[name].call(call.tool, arguments)
                    return f"{name}: {call.tool}"
            except (UpstreamError, NotUnderstoodError, TimeoutError) as error:
                log.warning("'%s' could not be stopped with %s: %s", name, call.tool, error or "no answer in time")
            return None

        return [done for done in await asyncio.gather(*map(stop, calls)) if done is not None]

    async def arguments(self, wanted: dict[str, Value] | None, given: dict[str, Any]) -> dict[str, Any]:
        """The upstream's arguments. Raises InvalidArgumentsError."""
        if wanted is None:
            return given
        roots = {"": given, "$arguments": given, "$robot": self.robot_facts}
        try:
            return await take_all(wanted, roots, self.context)
        except NotUnderstoodError as error:
            raise InvalidArgumentsError(f"{error}. Nothing was done; call again with valid values.") from error

    def _check_entry(self, entry: ToolEntry, mapped: MappedTool) -> None:
        where = f"the mapping file of '{self.mapping.server}', tools.{entry.name}"
        ours, model = set(entry.arguments), entry.model
        if self.mapping.server == "ros" and not entry.read_only:
            raise SiteFileError(f"{where}: what it may write is checked here, by the site file; name it under own")
        for source in _sources(mapped.arguments or {}):
            first = source.split(".")[0]
            if first not in ours and first not in ("$robot", "$arguments"):
                raise SiteFileError(
                    f"{where}: arguments takes '{source}'; valid: {', '.join(sorted(ours)) or 'none'}, $robot"
                )
        wrong = sorted(set(mapped.result) - set(model.model_fields))
        if wrong:
            raise SiteFileError(
                f"{where}: result has {', '.join(wrong)}; valid: {', '.join(sorted(model.model_fields))}"
            )
        for source in _sources(mapped.result):
            first = source.split(".")[0]
            if first.startswith("$") and first not in ROOTS:
                raise SiteFileError(f"{where}: result takes '{source}'; valid after $: {', '.join(ROOTS)}")

    async def _lacking(self, name: str, session: Session) -> list[str]:
        try:
            tools = await session.tools()
        except UpstreamUnavailableError as error:
            return [str(error)]
        faults: list[str] = []
        for ours, mapped in self.mapping.tools.items():
            if self.mapping.upstream_of(mapped.upstream) == name:
                theirs = mapped.tool or ours
                unknown_arguments = sorted(set(mapped.arguments or {}) - tools.get(theirs, set()))
                if theirs not in tools:
                    faults.append(f"it has no tool '{theirs}', which {ours} is mapped to")
                elif unknown_arguments:
                    faults.append(f"{theirs} takes no {', '.join(unknown_arguments)}, which {ours} is mapped to")
        return faults


class _Run:
    """One call of a mapped tool."""

    def __init__(self, proxy: Proxy, mapped: MappedTool, given: dict[str, Any], moves: str | None) -> None:
        self.mapped, self.given, self.moves, self._proxy = mapped, given, moves, proxy
        self.upstream = proxy.mapping.upstream_of(mapped.upstream)
        self.begun: dict[str, Any] = {}
        """Roots of the first answer, for the calls that follow or stop it; something once the call was sent."""
        self._context = copy_context()

    def named(self, call: Call) -> Call:
        """`call` with the name of its upstream: that of the tool unless it has one of its own."""
        return call.model_copy(update={"upstream": call.upstream or self.upstream})

    async def _first(self) -> None:
        """Make the calls of `first`. Raises UpstreamError, NotUnderstoodError, ToolError."""
        proxy, mapped = self._proxy, self.mapped
        for call in mapped.first:
            name = call.upstream or self.upstream
            arguments = await proxy.arguments(call.arguments, self.given)
            answer = read(await proxy.session(name).call(call.tool, arguments))
            roots = answer.roots(self.given, proxy.robot_facts)
            check(name, call.success, (*mapped.errors, *proxy.mapping.errors), answer, roots, moved=False)

    async def _progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Hand on to our caller; the library calls this outside of the request that is being served."""
        await asyncio.create_task(report_progress(progress, total, message), context=self._context)

    async def answer(self, name: str, arguments: dict[str, Any]) -> Answer:
        """The last answer. Raises UpstreamError, NotUnderstoodError."""
        proxy, follow = self._proxy, self.mapped.follow
        session = proxy.session(self.upstream)
        await session.tools()
        await self._first()
        self.begun = {"$arguments": self.given}
        answer = read(await session.call(self.mapped.tool or name, arguments, self._progress))
        self.begun = answer.roots(self.given, proxy.robot_facts)
        if follow is None or answer.failed:
            return answer
        asked = await take_all(follow.arguments, self.begun, proxy.context)
        if len(asked) < len(follow.arguments):
            return answer
        session = proxy.session(follow.upstream or self.upstream)
        while True:
            answer = read(await session.call(follow.tool, asked))
            if not passes(follow.pending, answer, answer.roots(self.given, {})):
                return answer
            await asyncio.sleep(follow.every_s)


def _without_ids(name: str, mapped: MappedTool, given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments without our object ids, which mean nothing to an upstream unless its mapping takes them.

    Raises ToolError where an id is all that says which object is meant.
    """
    unknown_ids = {key for key in given if key in OBJECT_IDS} - set(_sources(mapped.arguments or {}))
    if unknown_ids & NAMING_IDS:
        raise ToolError(
            f"{name} is the work of a third-party server here, which knows no object_id; go on with the name. "
            "Nothing was done.",
            code=PerceptionCode.UNKNOWN_OBJECT_ID,
        )
    return {key: value for key, value in given.items() if key not in unknown_ids}


def _sources(values: dict[str, Value]) -> list[str]:
    """All paths in `values`."""
    found: list[str] = []
    for value in values.values():
        found += [value.source] if value.source is not None else []
        found += _sources(value.fields or {})
        found += _sources({str(number): item for number, item in enumerate(value.items or [])})
    return found


def _late(run: _Run, *, moved: bool) -> ToolError:
    what = "it was stopped; look where the robot is before trying again" if moved else "try again"
    return ToolError(
        f"'{run.upstream}' gave no answer within {run.mapped.limit_s:g} s; {what}.", code=CommonCode.TIMEOUT
    )


def _unreached(error: UpstreamError, *, moved: bool) -> ToolError:
    if isinstance(error, UpstreamUnavailableError):
        text = f"{error}. Nothing was done; start it, then try again."
    elif moved:
        text = f"{error}. Its effect is not known: look before trying again."
    else:
        text = f"{error}. Try again."
    return ToolError(text, code=CommonCode.UPSTREAM_UNAVAILABLE)
