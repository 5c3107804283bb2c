"""The virtual tool with which a model ends its loop."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from quartet_agent_runtime.arguments import BadArguments, read_arguments
from quartet_agent_runtime.tools import ToolSpec
from quartet_contracts import REPORTS, Skill, TaskReport, describe

Check = Callable[[Any], str | None]
"""Says what is inconsistent in a report that fits its schema, or None."""


@dataclass(frozen=True)
class ReportTool:
    """`name` takes arguments that are a `model`; calling it well ends the loop."""

    name: str
    description: str
    model: type[BaseModel]
    check: Check = lambda _report: None

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, self.description, self.model.model_json_schema())

    def read(self, raw: Any) -> BaseModel:
        """The report. Raises BadArguments when it is malformed or contradicts itself."""
        arguments = read_arguments(raw, self.spec.schema)
        try:
            report = self.model.model_validate(arguments)
        except ValidationError as error:
            raise BadArguments(f"the report is malformed: {describe(error)}") from error
        if fault := self.check(report):
            raise BadArguments(f"the report contradicts itself: {fault}")
        return report


def skill_report(skill: Skill) -> ReportTool:
    """report_<skill>_result."""
    return ReportTool(
        name=f"report_{skill}_result",
        description="Ends your work with its result. Call it alone, after you have seen all other results.",
        model=REPORTS[skill],
        check=_success_is_code_none,
    )


def task_report() -> ReportTool:
    """report_task_result of the orchestrator."""
    return ReportTool(
        name="report_task_result",
        description="Ends the task with its result. Call it alone, after you have seen all other results.",
        model=TaskReport,
        check=_objects_fit_success,
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
