"""How a loop ends: with the report tool, or abnormally with a reason."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from pydantic import BaseModel, ValidationError

from quartet_agent_runtime._arguments import read_arguments
from quartet_agent_runtime._model import ToolCall
from quartet_agent_runtime._tools import ToolOutcome, ToolSpec, failure
from quartet_agent_runtime.errors import ArgumentsError
from quartet_contracts import REPORTS, Skill, TaskReport, Usage, describe

Check = Callable[[Any], str | None]
"""Returns what is inconsistent in a report that fits its schema, or None."""


MAX_BAD_REPORTS = 3


class Cause(StrEnum):
    """Why a loop ended."""

    REPORTED = "reported"
    BUDGET = "budget"
    TIME = "time"
    REPETITION = "repetition"
    NO_TOOL_CALL = "no_tool_call"
    REFUSED = "refused"
    BAD_REPORT = "bad_report"
    MODEL_UNAVAILABLE = "model_unavailable"
    TOOLS_UNAVAILABLE = "tools_unavailable"
    FENCED = "fenced"
    """The servers do not take the grant any more."""


class Ended(Exception):  # noqa: N818 - the loop is over, which is no error
    """Ends a loop from wherever it is: why, and the report when the model gave one."""

    def __init__(self, cause: Cause, reason: str = "", report: BaseModel | None = None) -> None:
        super().__init__(reason)
        self.cause, self.reason, self.report = cause, reason, report


@dataclass(frozen=True)
class Ending:
    """How a loop ended: with a report, or abnormally with a reason."""

    cause: Cause
    reason: str
    usage: Usage
    report: BaseModel | None = None
    """What the model claims; nothing of it has been verified."""
    uncertain: bool = False
    """The last tool call was cut off, or its grant was void, so what was done to the world is not known."""


@dataclass(frozen=True)
class ReportTool:
    """The tool with which a model ends its loop; its arguments are a `model`."""

    name: str
    description: str
    model: type[BaseModel]
    check: Check = lambda _report: None

    @property
    def spec(self) -> ToolSpec:
        """The tool as the model sees it."""
        return ToolSpec(self.name, self.description, _schema(self.model))

    def read(self, raw: Any, shown: dict[str, Any] | None = None) -> BaseModel:
        """Return the report. Raises ArgumentsError, as read_arguments does, when it is malformed or inconsistent."""
        arguments = read_arguments(raw, self.spec.schema, shown)
        try:
            report = self.model.model_validate(arguments)
        except ValidationError as error:
            raise ArgumentsError(f"the report is malformed: {describe(error)}") from error
        if fault := self.check(report):
            raise ArgumentsError(f"the report is inconsistent: {fault}")
        return report


@cache
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON Schema of a report, which takes pydantic 5 ms."""
    return model.model_json_schema()


class ReportReader:
    """Reads the reports of one loop until one is good, or MAX_BAD_REPORTS were malformed.

    Attributes:
        shown: JSON Schema of the arguments that the model is shown; None: that of the tool.
    """

    def __init__(self, tool: ReportTool) -> None:
        self.shown: dict[str, Any] | None = None
        self._tool = tool
        self._bad = 0

    def read(self, call: ToolCall, *, alone: bool, rejected: bool = False) -> ToolOutcome:
        """Return what the model is told of a report that is not taken; `alone`: its answer has no other call.

        rejected: The journal shows that the report was not taken, whatever its check would say today.

        Raises Ended with the report when it is good, and without one when the model has no further try.
        """
        if not alone:
            return failure(
                "REPORT_NOT_ALONE",
                f"the report is not alone in its answer\nCall {call.name} alone, after you have seen all other results",
            )
        try:
            report = self._tool.read(call.arguments, self.shown)
            if rejected:
                raise ArgumentsError("the report was rejected before")
        except ArgumentsError as error:
            self._bad += 1
            if self._bad >= MAX_BAD_REPORTS:
                reason = f"{MAX_BAD_REPORTS} malformed reports, the last one: {error}"
                raise Ended(Cause.BAD_REPORT, reason) from error
            return failure("INVALID_REPORT", str(error))
        raise Ended(Cause.REPORTED, report=report)


def skill_report(skill: Skill) -> ReportTool:
    """Return the tool report_<skill>_result of a sub-agent."""
    return ReportTool(
        name=f"report_{skill}_result",
        description="End your work with its result. Call it alone, after you have seen all other results. success is "
        "true exactly when error_code is NONE.",
        model=REPORTS[skill],
        check=_success_is_code_none,
    )


def task_report(check: Check = lambda _report: None) -> ReportTool:
    """Return the tool report_task_result of the orchestrator, with a further `check` of what fits its schema."""
    return ReportTool(
        name="report_task_result",
        description="End the task with its result. Call it alone, after you have seen all other results.",
        model=TaskReport,
        check=lambda report: _objects_fit_success(report) or check(report),
    )


def _success_is_code_none(report: Any) -> str | None:
    if report.success == (report.error_code == "NONE"):
        return None
    return f"success={report.success} does not go with error_code={report.error_code}; success is true exactly at NONE"


def _objects_fit_success(report: Any) -> str | None:
    failed = [outcome.object_name for outcome in report.objects if not outcome.completed]
    if report.success and failed:
        return f"success is true, but these objects are not completed: {', '.join(failed)}"
    return None
