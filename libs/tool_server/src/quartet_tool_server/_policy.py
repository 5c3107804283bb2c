"""Policy of a site for tool calls: who may use which tool, how often, and what a person has to approve."""

import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from typing import Any, cast

from fastmcp.tools import ToolResult as McpResult

from quartet_contracts import STANDSTILL_TOOLS, GrantClaims
from quartet_site import ApprovalRule, PolicyFile, normalise
from quartet_site.policy import Range
from quartet_tool_server._approvals import PendingApprovals
from quartet_tool_server.errors import PolicyDeniedError, RateLimitedError

MINUTE_S = 60.0


class CallPolicy:
    """The rules of one policy for the calls of one server. Tools that bring the robot to rest are never refused.

    `names` maps the aliases of the site to their names, both normalised: a rule that asks or denies by a name holds for
    all of them.
    """

    def __init__(
        self,
        policy: PolicyFile,
        approvals: PendingApprovals,
        *,
        names: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._policy, self._approvals, self._names, self._clock = policy, approvals, names or {}, clock
        self._calls: dict[str, deque[float]] = defaultdict(deque[float])

    def screen(
        self,
        grant: GrantClaims,
        tool: str,
        given: Mapping[str, Any],
        *,
        defaults: Mapping[str, Any],
        counted: bool,
        responses: Mapping[str, Any] | None,
        resolved: Mapping[str, Any] | None = None,
    ) -> McpResult | None:
        """None for a call that may go on; else the result that asks for a person's word on it.

        `given` are the arguments as they came, `responses` what came with them on an earlier question, `resolved`
        further arguments that follow from them. Raises PolicyDeniedError, RateLimitedError,
        InputRequiredError, ApprovalDeniedError.
        """
        self.check(grant, tool, counted=counted)
        rule = self.rule(grant.sub, tool, {**defaults, **given, **(resolved or {})})
        if rule is None:
            return None
        if rule.then == "deny":
            raise PolicyDeniedError(f"{tool} with these arguments is not allowed: {describe(rule)}. Nothing moved.")
        if responses:
            self._approvals.settle(grant, tool, given, responses)
            return None
        return self._approvals.ask(grant, tool, given, describe(rule))

    def may_use(self, agent: str, tool: str) -> bool:
        """Whether the policy lets an agent use `<server>__<tool>`."""
        agents = self._policy.agents
        patterns = agents.get(agent, agents.get("*"))
        return patterns is None or tool in STANDSTILL_TOOLS or any(_fits(pattern, tool) for pattern in patterns)

    def check(self, grant: GrantClaims, tool: str, *, counted: bool) -> None:
        """Check agent and rate; `counted` is true for a tool that does more than look.

        Raises PolicyDeniedError, RateLimitedError.
        """
        if tool in STANDSTILL_TOOLS:
            return
        if not self.may_use(grant.sub, tool):
            agents = self._policy.agents
            patterns = agents.get(grant.sub, agents.get("*", []))
            raise PolicyDeniedError(
                f"'{grant.sub}' may not use {tool} at this site (policy rule agents; allowed: "
                f"{', '.join(patterns) or 'nothing'}). Nothing moved."
            )
        if counted:
            self._count(tool)

    def rule(self, agent: str, tool: str, arguments: Mapping[str, Any]) -> ApprovalRule | None:
        """The approval rule that asks for a person's word or denies the call; None where it may go on."""
        if tool in STANDSTILL_TOOLS:
            return None
        for rule in self._policy.approval:
            if not (_fits(rule.tool, tool) and ("*" in rule.agents or agent in rule.agents)):
                continue
            strict = rule.then != "auto"
            if all(self._within(arguments, path, wanted, unclear=strict) for path, wanted in rule.when.items()):
                return rule if strict else None
        return None

    def _count(self, tool: str) -> None:
        cap, now = self._policy.rates.tools.get(tool, self._policy.rates.per_tool), self._clock()
        calls = self._calls[tool]
        while calls and calls[0] <= now - MINUTE_S:
            calls.popleft()
        if len(calls) >= cap:
            raise RateLimitedError(
                f"{tool} was called {len(calls)} times in the last minute, {cap} are allowed (policy rule rates); wait "
                f"{calls[0] + MINUTE_S - now:.0f} s. Nothing moved."
            )
        calls.append(now)

    def _within(self, arguments: Mapping[str, Any], path: str, wanted: Range, *, unclear: bool) -> bool:
        """Return whether the value at `path` is in the range; `unclear` where that cannot be told."""
        value = _value_at(arguments, path)
        if wanted.one_of is not None:
            # A list has what an argument may mean: one of them is enough for a rule that asks or denies.
            meant, some = _flat(value), any if unclear else all
            return some(any(self._same(one, item, by_name=unclear) for item in wanted.one_of or ()) for one in meant)
        if isinstance(value, bool) or not isinstance(value, int | float):
            try:
                # The tool would read a number from text, too.
                value = float(value) if isinstance(value, str) else float("nan")
            except ValueError:
                return unclear
        if value != value:  # NaN, or nothing that is a number
            return unclear
        return (wanted.min is None or value >= wanted.min) and (wanted.max is None or value <= wanted.max)

    def _same(self, value: Any, item: Any, *, by_name: bool) -> bool:
        """Return whether both are equal; `by_name` a text equals any spelling of it, and any alias of the site.

        A rule that lets calls pass compares exactly: two ROS topics may differ by one capital.
        """
        if by_name and isinstance(value, str) and isinstance(item, str):
            return self._name(value) == self._name(item)
        return value == item and isinstance(value, bool) == isinstance(item, bool)

    def _name(self, text: str) -> str:
        name = normalise(text)
        return self._names.get(name, name)


def describe(rule: ApprovalRule) -> str:
    """Return the rule in words, for the person who is asked and the agent that is refused."""
    parts: list[str] = []
    for path, wanted in rule.when.items():
        if wanted.one_of is not None:
            parts.append(f"{path} is one of {', '.join(str(value) for value in wanted.one_of)}")
        else:
            low = "" if wanted.min is None else f" from {wanted.min:g}"
            high = "" if wanted.max is None else f" up to {wanted.max:g}"
            parts.append(f"{path}{low}{high}")
    where = f" where {' and '.join(parts)}" if parts else ""
    about = f"policy rule approval for {rule.tool}{where}"
    return f"{rule.because} ({about})" if rule.because else about


def _fits(pattern: str, tool: str) -> bool:
    return tool.startswith(pattern[:-1]) if pattern.endswith("*") else tool == pattern


def _flat(value: Any) -> list[Any]:
    """Return the values in `value`, a value or a list of such; an empty list is one value."""
    if not isinstance(value, list) or not value:
        return [value]
    return [one for part in cast("list[Any]", value) for one in _flat(part)]


def _value_at(arguments: Mapping[str, Any], path: str) -> Any:
    """Return the value at a dotted path, None where there is none."""
    value: Any = arguments
    for part in path.split("."):
        if isinstance(value, Mapping):
            value = cast("Mapping[str, Any]", value).get(part)
        elif isinstance(value, list | tuple) and part.isdigit():
            items = cast("list[Any]", value)
            value = items[int(part)] if int(part) < len(items) else None
        else:
            value = None
    return value
