"""What the tools do: the functions behind the HTTP API, for callers that speak MCP."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from quartet_agent_runtime import Image
from quartet_contracts import TERMINAL, Answer, TaskStatus
from quartet_orchestrator.api.problems import Problem
from quartet_orchestrator.api.tasks import TaskDesk
from quartet_orchestrator.fleet import Fleet
from quartet_orchestrator.lookout import CAMERAS, Lookout
from quartet_orchestrator.mcp import person
from quartet_orchestrator.mcp.arguments import AnswerTask, CancelTask, ListRobots, Look, RunTask, Stop, TaskStatusOf
from quartet_orchestrator.mcp.following import follow
from quartet_orchestrator.mcp.views import Robots, RobotView, SeenView, Stopped, TaskView, task_view
from quartet_orchestrator.stop_button import StopButton, in_words

if TYPE_CHECKING:
    from mcp_types import InputRequiredResult


@dataclass(frozen=True)
class Caller:
    """What a tool may want of the one who calls it."""

    tell: Callable[[str], Awaitable[None]]
    """Send a line of progress; does nothing for a client that asked for none."""
    can_ask: bool
    """The client can put a question to its person and call again with the answer."""
    task_id: str | None = None
    """Of the task whose question was put to the person, when this is the call with the answer."""
    responses: dict[str, Any] = field(default_factory=dict)
    """What the person said, by question id."""


class McpDesk:
    """One per process."""

    def __init__(
        self,
        tasks: TaskDesk,
        fleet: Fleet,
        lookout: Lookout,
        button: StopButton | None,
        stop: asyncio.Event,
    ) -> None:
        self._tasks, self._fleet, self._lookout = tasks, fleet, lookout
        self.button = button
        self._stop = stop

    async def run_task(self, given: RunTask, caller: Caller) -> "TaskView | InputRequiredResult":
        if caller.task_id is None:
            status = await self._tasks.accept(given.submission(), key=given.key)
        else:
            status = await self._tasks.status(caller.task_id)
            await self._take_answers(status, caller)
        return await self._outcome(status.task.task_id, given.wait_s, caller)

    async def task_status(self, given: TaskStatusOf, caller: Caller) -> "TaskView | InputRequiredResult":
        status = await self._tasks.status(given.task_id)
        await self._take_answers(status, caller)
        return await self._outcome(given.task_id, given.wait_s, caller)

    async def answer(self, given: AnswerTask, caller: Caller) -> "TaskView | InputRequiredResult":
        status = await self._tasks.status(given.task_id)
        question = await self._tasks.bus.questions.current(given.task_id)
        if caller.responses:
            await self._take_answers(status, caller)
        elif question is None:
            raise Problem(
                409, "No such question", f"task_id: task '{given.task_id}' is {status.state} and asks nothing now"
            )
        elif given.text is None and caller.can_ask:
            return person.ask(given.task_id, question)
        elif question.approval:
            raise Problem(
                403,
                "A person must answer",
                f"text: task '{given.task_id}' asks for a person's word on a call, which no model may give; leave text "
                "out to have your client ask the person, where it can; else they answer in the web page or with: "
                f"quartet answer {given.task_id} yes",
            )
        elif given.text is None:
            raise Problem(422, "Request not valid", f"text: give the person's words; they are asked: {question.text}")
        else:
            await self._tasks.answer(given.task_id, Answer(text=given.text, question_id=question.question_id))
        return await self._view(given.task_id)

    async def cancel_task(self, given: CancelTask, caller: Caller) -> TaskView:
        await self._tasks.cancel(given.task_id, given.cancellation())
        return await self._view(given.task_id)

    async def stop(self, given: Stop, caller: Caller) -> Stopped:
        assert self.button is not None
        found = await self.button.press(given.robot, given.reason)
        return Stopped(
            stopped=all(state.get("stopped") is True for state in found.values()),
            robots={name: in_words(state) for name, state in found.items()},
            next="only a person can let a robot move again: quartet reset, or the button in the web page",
        )

    async def look(self, given: Look, caller: Caller) -> tuple[SeenView, list[Image]]:
        robot = self._named(given.robot)
        cameras: list[str] = [*CAMERAS] if given.camera == "both" else [given.camera]
        looks = await asyncio.gather(*(self._lookout.picture(robot, camera) for camera in cameras))
        images: list[Image] = []
        for (seen, image), camera in zip(looks, cameras, strict=True):
            if image is None:
                reason = f"{seen.outcome.error_code}: {seen.outcome.message or 'the server gave no reason'}"
                raise Problem(503, "No picture", f"{camera} camera of {robot}: {reason}")
            images.append(image)
        area = looks[0][0].outcome.content.get("area")
        return SeenView(robot=robot, cameras=cameras, area=str(area or "")), images

    async def list_robots(self, given: ListRobots, caller: Caller) -> Robots:
        return Robots(robots=[RobotView.model_validate(row) for row in await self._fleet.rows()])

    def _named(self, robot: str | None) -> str:
        if robot is None and len(self._fleet.names) == 1:
            return self._fleet.names[0]
        if robot not in self._fleet.names:
            wrong = "name one robot" if robot is None else f"there is no robot '{robot}'"
            raise Problem(422, "Unknown robot", f"robot: {wrong}; valid: {', '.join(self._fleet.names)}")
        return robot

    async def _outcome(self, task_id: str, wait_s: float, caller: Caller) -> "TaskView | InputRequiredResult":
        if wait_s > 0:
            await follow(self._tasks.bus, task_id, wait_s, caller.tell, self._stop)
            question = await self._tasks.bus.questions.current(task_id)
            if question is not None and caller.can_ask and question.question_id not in caller.responses:
                return person.ask(task_id, question)
        return await self._view(task_id)

    async def _view(self, task_id: str) -> TaskView:
        status = await self._tasks.status(task_id)
        return task_view(status, await self._tasks.bus.questions.current(task_id))

    async def _take_answers(self, status: TaskStatus, caller: Caller) -> None:
        """Pass on what the person said to the question that is open now; an older one has had its answer."""
        question = await self._tasks.bus.questions.current(status.task.task_id)
        if question is None or question.question_id not in caller.responses or status.state in TERMINAL:
            return
        text = person.said(caller.responses[question.question_id], approval=question.approval)
        if text is not None:
            await self._tasks.answer(status.task.task_id, Answer(text=text, question_id=question.question_id))
