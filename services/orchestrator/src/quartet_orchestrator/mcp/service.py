"""Service behind the MCP tools, over the same functions as the HTTP API."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from quartet_agent_runtime import Image
from quartet_bus import Question
from quartet_contracts import TERMINAL, Answer, Role, TaskStatus, number_choices
from quartet_orchestrator.callers import current_caller
from quartet_orchestrator.errors import RequestError
from quartet_orchestrator.mcp.arguments import AnswerTask, CancelTask, ListRobots, Look, RunTask, Stop, TaskStatusOf
from quartet_orchestrator.mcp.following import follow
from quartet_orchestrator.mcp.views import LookView, Robots, RobotView, StopView, TaskView, task_view
from quartet_orchestrator.observation import CAMERAS, Fleet, RobotMonitor
from quartet_orchestrator.stop_client import describe_stop
from quartet_orchestrator.tasks import TaskService

if TYPE_CHECKING:
    from mcp_types import InputRequiredResult

_FIELD = "answer"
_YES_NO = ["yes", "no"]


@dataclass(frozen=True)
class McpCaller:
    """Client that calls a tool."""

    tell: Callable[[str], Awaitable[None]]
    """Send a line of progress; does nothing for a client that asked for none."""
    can_ask: bool
    """Whether the client can put a question to its person and call again with the answer."""
    task_id: str | None = None
    """Task whose question was put to the person, when this is the call with the answer."""
    responses: dict[str, Any] = field(default_factory=dict)
    """Answers of the person, by question id."""


class McpTaskService:
    """Runs the tools; one per process. Raises RequestError for a call that cannot be served."""

    def __init__(
        self,
        tasks: TaskService,
        fleet: Fleet,
        monitor: RobotMonitor,
        stop: asyncio.Event,
    ) -> None:
        self._tasks, self._fleet, self._monitor = tasks, fleet, monitor
        self.stop_client = tasks.stop_client
        self._stop = stop

    async def run_task(self, given: RunTask, caller: McpCaller) -> "TaskView | InputRequiredResult":
        """Submit a task, or pass on the answer to its question; with `wait_s`, follow it."""
        if caller.task_id is None:
            status = await self._tasks.accept(given.submission(), key=given.key)
        else:
            status = await self._tasks.status(caller.task_id)
            await self._take_answers(status, caller)
        return await self._outcome(status.task.task_id, given.wait_s, caller)

    async def task_status(self, given: TaskStatusOf, caller: McpCaller) -> "TaskView | InputRequiredResult":
        """Return the state of a task; with `wait_s`, follow it."""
        status = await self._tasks.status(given.task_id)
        await self._take_answers(status, caller)
        return await self._outcome(given.task_id, given.wait_s, caller)

    async def answer(self, given: AnswerTask, caller: McpCaller) -> "TaskView | InputRequiredResult":
        """Answer the open question of a task, by the text given or through the person at the client."""
        status = await self._tasks.status(given.task_id)
        question = await self._tasks.bus.questions.current(given.task_id)
        if caller.responses:
            await self._take_answers(status, caller)
        elif question is None:
            raise RequestError(
                409, "No such question", f"task_id: task '{given.task_id}' is {status.state} and asks nothing now"
            )
        elif given.text is None and _may_ask(question, caller):
            return _ask(given.task_id, question)
        elif question.approval:
            raise RequestError(
                403,
                "A person must answer",
                f"text: task '{given.task_id}' asks for a person's approval of a call, which no model may give; leave "
                "text out to have your client ask the person, if it can; else they answer in the web page or with: "
                f"quartet answer {given.task_id} yes",
            )
        elif given.text is None:
            raise RequestError(422, "Request not valid", f"text: pass the person's answer to: {question.text}")
        else:
            await self._tasks.answer(given.task_id, Answer(text=given.text, question_id=question.question_id))
        return await self._view(given.task_id)

    async def cancel_task(self, given: CancelTask, caller: McpCaller) -> TaskView:
        """Cancel a task."""
        await self._tasks.cancel(given.task_id, given.cancellation())
        return await self._view(given.task_id)

    async def stop(self, given: Stop, caller: McpCaller) -> StopView:
        """Stop one robot, or all if none or an unknown one is named."""
        assert self.stop_client is not None
        robot = given.robot if given.robot in self._fleet.names else None
        found = await self.stop_client.stop(robot, given.reason)
        return StopView(
            stopped=all(state.get("stopped") is True for state in found.values()),
            robots={name: describe_stop(state) for name, state in found.items()},
            next="only a person can let a robot move again: quartet reset, or the button in the web page",
        )

    async def look(self, given: Look, caller: McpCaller) -> tuple[LookView, list[Image]]:
        """Return what the cameras see now."""
        robot = self._named(given.robot)
        cameras: list[str] = [*CAMERAS] if given.camera == "both" else [given.camera]
        looks = await asyncio.gather(*(self._monitor.picture(robot, camera) for camera in cameras))
        images: list[Image] = []
        for (seen, image), camera in zip(looks, cameras, strict=True):
            if image is None:
                reason = f"{seen.outcome.error_code}: {seen.outcome.message or 'the server gave no reason'}"
                raise RequestError(503, "No picture", f"{camera} camera of {robot}: {reason}")
            images.append(image)
        area = looks[0][0].outcome.content.get("area")
        return LookView(robot=robot, cameras=cameras, area=str(area or "")), images

    async def list_robots(self, given: ListRobots, caller: McpCaller) -> Robots:
        """Return all robots with their states."""
        return Robots(robots=[RobotView.model_validate(row) for row in await self._fleet.rows()])

    def _named(self, robot: str | None) -> str:
        if robot is None and len(self._fleet.names) == 1:
            return self._fleet.names[0]
        if robot not in self._fleet.names:
            wrong = "name one robot" if robot is None else f"there is no robot '{robot}'"
            raise RequestError(422, "Unknown robot", f"robot: {wrong}; valid: {', '.join(self._fleet.names)}")
        return robot

    async def _outcome(self, task_id: str, wait_s: float, caller: McpCaller) -> "TaskView | InputRequiredResult":
        if wait_s > 0:
            await follow(self._tasks.bus, task_id, wait_s, caller.tell, self._stop)
            question = await self._tasks.bus.questions.current(task_id)
            if question is not None and _may_ask(question, caller) and question.question_id not in caller.responses:
                return _ask(task_id, question)
        return await self._view(task_id)

    async def _view(self, task_id: str) -> TaskView:
        status = await self._tasks.status(task_id)
        return task_view(status, await self._tasks.bus.questions.current(task_id))

    async def _take_answers(self, status: TaskStatus, caller: McpCaller) -> None:
        """Pass on the person's answer to the question that is open now; an older question has had its answer."""
        question = await self._tasks.bus.questions.current(status.task.task_id)
        if question is None or question.question_id not in caller.responses or status.state in TERMINAL:
            return
        text = _answer_in(caller.responses[question.question_id], approval=question.approval)
        if text is not None:
            await self._tasks.answer(status.task.task_id, Answer(text=text, question_id=question.question_id))


def _may_ask(question: Question, caller: McpCaller) -> bool:
    """Return whether the client may put the question to its person; an approval takes a token with that role."""
    return caller.can_ask and (not question.approval or current_caller.get().may(Role.APPROVE))


def _ask(task_id: str, question: Question) -> "InputRequiredResult":
    """Return the result with which the client shows its person a form (elicitation) and calls again with the answer."""
    from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult

    field: dict[str, Any] = {"type": "string", "title": "Your answer"}
    if question.approval:
        field["enum"] = _YES_NO
    choices = "" if question.approval else number_choices(question.choices)
    form = ElicitRequestFormParams(
        message=f"{question.text}  {choices}".rstrip(),
        requested_schema={"type": "object", "properties": {_FIELD: field}, "required": [_FIELD]},
    )
    # The state is neither secret nor a permission: whoever may call here may name any task.
    return InputRequiredResult(input_requests={question.question_id: ElicitRequest(params=form)}, request_state=task_id)


def _answer_in(response: Any, *, approval: bool) -> str | None:
    """Return the person's answer to a form, None when there is none; 'no' for an approval that they dismissed."""
    from mcp_types import ElicitResult

    text = None
    if isinstance(response, ElicitResult) and response.action == "accept" and response.content is not None:
        given = response.content.get(_FIELD)
        text = given.strip() if isinstance(given, str) and given.strip() else None
    return "no" if text is None and approval else text
