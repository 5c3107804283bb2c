"""Run of a task that all robots do together: they agree on errands step by step, and each does its own as a task."""

import asyncio
import contextlib
import hashlib
import logging
import secrets
import time
from itertools import combinations
from typing import Any, Literal, TypeVar

from quartet_bus import (
    BusUnavailableError,
    LeaseEpoch,
    LeaseLostError,
    NoAnswerError,
    ProgramQueue,
    TaskDelivery,
    TurnQueue,
)
from quartet_contracts import (
    MAX_PROMPT,
    PARKING,
    TERMINAL,
    ApproachArguments,
    Budget,
    ContractError,
    DeliveryOutcome,
    DirectStep,
    NextAction,
    Skill,
    State,
    Task,
    TaskReport,
    TaskStatus,
    TurnRequest,
    Usage,
)
from quartet_contracts.journal import (
    Happening,
    Note,
    RobotLeft,
    TeamErrands,
    TeamProgram,
    TeamStep,
    TeamStepEnded,
    TeamSubtasks,
    TeamTurn,
)
from quartet_orchestrator.errors import ParticipantLostError, TaskAbortedError
from quartet_orchestrator.observation import RobotState, StopMonitor
from quartet_orchestrator.recovery import TaskRecord, end_unstarted
from quartet_orchestrator.tasks.abilities import unable_to_move
from quartet_orchestrator.tasks.errands import Errand, ErrandSplit, Part, TeamState, park
from quartet_orchestrator.tasks.interruptions import SHUT_DOWN, Interruptions
from quartet_orchestrator.tasks.part import has_picked, read_end, share
from quartet_orchestrator.tasks.run import RunContext
from quartet_orchestrator.tasks.scene import HomeScene, ends_of
from quartet_orchestrator.tasks.speech import Speech
from quartet_orchestrator.tasks.ways import Line, Point, Ways
from quartet_process import tracing
from quartet_site import Base
from quartet_teams import PLANNER, Answer, Discussion, Prompts, TeamError, Window, make_team
from quartet_teams.emos import LEADER

log = logging.getLogger(__name__)
Heard = TypeVar("Heard", TeamTurn, TeamProgram)
POLL_S = 0.2
ABSENT_AFTER_S = 15.0
"""Time for which a robot's servers may be silent before the others go on without it [s]."""
WAYS_WAIT_S = 15.0
"""Time limit for the ways between areas; those that are not known by then count as straight."""
POSES_WAIT_S = 5.0
"""Time limit for the poses of the robots; one that has not answered by then has none for the team."""
LEFT: dict[RobotState, Literal["ROBOT_STOPPED", "ROBOT_ABSENT", "ROBOT_UNCERTAIN"]] = {
    RobotState.STOPPED: "ROBOT_STOPPED",
    RobotState.ABSENT: "ROBOT_ABSENT",
    RobotState.UNCERTAIN: "ROBOT_UNCERTAIN",
}


class TeamRun:
    """Runs one task of a team from where its journal ends.

    Every turn of the discussion is in the journal before the next one, and every plan before its tasks are submitted:
    a replica that takes the task over hears the recorded turns again and finds the tasks that exist.
    """

    def __init__(
        self, context: RunContext, delivery: TaskDelivery, status: TaskStatus, lease_epoch: LeaseEpoch
    ) -> None:
        self._context = context
        self._bus = context.bus
        self._delivery = delivery
        self._task = delivery.task
        self._record = TaskRecord(context.bus, status, lease_epoch)
        self._brief = context.briefs[context.fleet.names[0]]
        self._split = ErrandSplit(self._task.sentence, self._brief)
        self._state = TeamState(self._split, context.fleet.names, self._unable)
        self._stops = {robot: StopMonitor(context.fleet, robot) for robot in context.fleet.names}
        self._speech = Speech(context.model, context.signer, self._task.task_id, context.settings.model_timeout_s)
        self._ways: dict[str, Ways] = {}
        self._heard: list[TeamTurn | TeamProgram] = []
        """Turns and programs of an unfinished discussion that another replica has recorded."""
        self._speaker = ""
        """Who was asked last."""
        self._repeats = False
        """Whether the last answer was one of these."""
        self._talk = Usage()
        """Of the discussion."""

    async def run(self, shutdown: asyncio.Event) -> None:
        """Run the task until it ends: by itself, by a cancel, its deadline, a shutdown or another replica."""
        await self._restore()
        work = asyncio.create_task(self._work(), name=f"team-{self._task.task_id}")
        try:
            async with Interruptions(
                self._bus, self._delivery, self._record, shutdown, self._context.settings.pause_limit_s
            ) as interruptions:
                await interruptions.wait(work)
                if work.done():
                    await self._conclude(work)
                elif interruptions.taken_over:
                    log.error("task %s was taken over by another replica", self._task.task_id)
                elif interruptions.shut_down:
                    await _cancel(work)
                    await self._record.write(Note(text=SHUT_DOWN))
                else:
                    await _cancel(work)
                    await self._end_early(interruptions)
        finally:
            await _cancel(work)

    async def _restore(self) -> None:
        events = await self._bus.journal.read_all(self._task.task_id)
        for noted in events:
            event = noted.event
            self._state.apply(event)
            if isinstance(event, TeamTurn):
                self._heard.append(event)
                self._talk = self._talk.plus(event.usage)
            elif isinstance(event, TeamProgram):
                self._heard.append(event)
                self._talk = self._talk.plus(Usage(tool_calls=1))
            elif isinstance(event, TeamErrands | TeamSubtasks | TeamStep | TeamStepEnded | RobotLeft):
                self._heard.clear()
        self._record.usage = self._talk.plus(self._state.usage)
        if self._record.state is not State.QUEUED:
            await self._record.take_over(events)
        if self._record.state is State.CANCELING:
            # The store keeps a cancel longer than any task. If it is gone all the same, the state still tells.
            await self._bus.tasks.cancel(self._task.task_id, "canceled")
        for robot, watch in self._stops.items():
            await watch.begin(self._state.stops.get(robot))

    async def _work(self) -> TaskReport:
        await self._begin()
        if not self._state.errands:
            discussion = Discussion(self._answer, self._tell_refusal)
            plan = await discussion.plan(self._split, PLANNER, self._split.prompt())
            await self._note(TeamErrands(errands=plan))
        self._ways = await self._learn_ways()
        underway: dict[str, asyncio.Task[TaskStatus]] = {}
        try:
            while True:
                for robot, part in self._state.running.items():
                    if robot not in underway:
                        underway[robot] = asyncio.create_task(self._do(robot, part), name=f"errand-{part.task}")
                if not self._state.open or not await self._assign():
                    if await self._clear_ways():
                        continue
                    if not underway:
                        report = self._report(self._state.stuck if self._state.open else "")
                        return report.model_copy(update={"error_code": self._state.task_code})
                    if not self._state.open and not self._state.carrying:
                        # Nobody has to come by any more, so a robot on its way to a parking pose may stay where it is.
                        await self._end_parts("the last errand of the team has ended")
                    await self._note_ends(underway)
        finally:
            await _cancel(*underway.values())

    def _unable(self, robot: str, errand: Errand) -> str:
        return unable_to_move(self._context.briefs[robot], errand.thing, errand.area, errand.target)

    async def _learn_ways(self) -> dict[str, Ways]:
        """Return the ways of each robot between the areas of the errands.

        Robots with the same base have the same ways, as the first of them plans them that answers.
        """
        bases: dict[Base, list[str]] = {}
        for name in self._context.fleet.names:
            bases.setdefault(self._context.briefs[name].setup.robot.base, []).append(name)
        ends = list(combinations(ends_of(self._state.errands.values(), self._brief.site), 2))
        found: dict[Base, list[Line]] = {base: [] for base in bases}

        async def ask(base: Base) -> None:
            for start, end in ends:
                for robot in [name for name in bases[base] if name not in self._state.left]:
                    if line := await self._context.monitor.path(robot, start, end):
                        found[base].append(line)
                        break

        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(WAYS_WAIT_S):
                await asyncio.gather(*map(ask, bases))
        ways = {base: Ways(lines, base.linear_speed_m_s) for base, lines in found.items()}
        return {name: ways[base] for base, names in bases.items() for name in names}

    async def _assign(self) -> bool:
        """Give errands to the robots that are free; return False when there is nothing to do until a robot is done."""
        await self._record.wait_while_paused()
        robots = await self._robots()
        if not robots:
            return False
        try:
            return await self._agree(robots)
        except ParticipantLostError as error:
            await self._note(RobotLeft(robot=error.robot, error_code="PARTICIPANT_SILENT", reason=str(error)))
            return True

    async def _scene(self, robots: list[str]) -> HomeScene:
        """Return what the free robots see, with the poses of all that answer and how far the others' errands are."""
        names = [name for name in self._context.fleet.names if name not in self._state.left]
        asked = {name: asyncio.create_task(self._context.monitor.pose(name)) for name in names}
        await asyncio.wait(asked.values(), timeout=POSES_WAIT_S)
        positions: dict[str, Point] = {}
        for name, asking in asked.items():
            if asking.done() and (pose := asking.result().pose):
                positions[name] = pose["x"], pose["y"]
        await _cancel(*asked.values())
        picked = {name for name, part in self._state.running.items() if await has_picked(self._bus, part.task)}
        return HomeScene(self._state, robots, self._brief, positions, picked, self._ways)

    async def _clear_ways(self) -> bool:
        """Send the next robot that has nothing to do to a parking pose; return False when none is in the way.

        Only while others work, and once after each errand: a robot that stays stands where one of them may have to go.
        """
        waiting = [name for name in self._free() if name not in self._state.parked]
        if not self._state.carrying or not waiting or await self._bus.tasks.pause_reason(self._task.task_id):
            return False
        scene = await self._scene(waiting)
        found = ((robot, area) for robot in waiting if (area := scene.parking(robot)))
        for robot, area in found:
            if await self._problem(robot) is None:
                await self._begin_step({robot: park(area)}, {})
                return True
        return False

    async def _begin(self) -> None:
        record = self._record
        if record.state is State.PAUSED:
            await record.wait_while_paused()
        if record.state is State.CANCELING:
            await asyncio.Event().wait()
        if record.state is State.RUNNING:
            await record.move(State.RETRIABLE, "taken up where the journal ends")
        if record.state in {State.QUEUED, State.RETRIABLE}:
            await record.move(State.INITIALIZING)
        if record.state is State.INITIALIZING:
            await record.move(State.RUNNING)

    async def _robots(self) -> list[str]:
        """Return the robots that are free and can work; those that cannot leave the team for good."""
        found = await asyncio.gather(*(self._problem(name) for name in self._free()))
        for left in found:
            if left is not None:
                await self._note(left)
        return self._free()

    def _free(self) -> list[str]:
        """Return the robots that do nothing."""
        busy = {*self._state.left, *self._state.running}
        return [name for name in self._context.fleet.names if name not in busy]

    async def _problem(self, robot: str) -> RobotLeft | None:
        """Return why a robot leaves, None for one that can work. A silent one has time to come back."""
        if reason := await self._stops[robot].reason():
            return RobotLeft(robot=robot, error_code="ROBOT_STOPPED", reason=reason)
        end = time.monotonic() + ABSENT_AFTER_S
        while True:
            state, why = await self._context.fleet.state(robot)
            if state not in LEFT:
                return None
            if state is RobotState.STOPPED or time.monotonic() >= end:
                return RobotLeft(robot=robot, error_code=LEFT[state], reason=why)
            await asyncio.sleep(POLL_S)

    async def _agree(self, robots: list[str]) -> bool:
        """Let the free robots agree on what they do and note it, unless one drops out meanwhile.

        Returns False when all of them are to wait. Raises TeamError, ParticipantLostError.
        """
        scene = await self._scene(robots)
        if not any(scene.actions(robot) for robot in robots):
            return False
        prompts = Prompts(scene, self._state.past, Window())
        discussion = Discussion(self._answer, self._tell_refusal)
        plan = await make_team(self._task.team or "").decide(scene, prompts, discussion)
        return await self._begin_plan(plan, robots)

    async def _begin_plan(self, plan: dict[str, str], robots: list[str]) -> bool:
        """Note what the robots have agreed on, and return False when all of them are to wait."""
        if await self._robots() != robots:
            # One has dropped out while they spoke: the others agree anew.
            return True
        if plan:
            reserved = [part.budget for part in self._state.running.values() if part.budget]
            budget = share(self._task.budget, self._spent, reserved, len(plan))
            if budget is None:
                told = self._task.budget.spent(self._spent) or "what is left is too little for another errand"
                raise TaskAbortedError(f"The team has spent its budget: {told}.")
            await self._begin_step(plan, dict.fromkeys(plan, budget))
        return bool(plan)

    @property
    def _spent(self) -> Usage:
        """What counts for the budget: the discussion, and the loops of the tasks that have ended."""
        return self._talk.plus(self._state.spent)

    async def _begin_step(self, plan: dict[str, str], budgets: dict[str, Budget]) -> None:
        tasks = {robot: f"{self._task.task_id}-{secrets.token_hex(3)}" for robot in plan}
        stops = {robot: watch.counts for robot, watch in self._stops.items()}
        step = self._state.steps + 1
        await self._note(TeamStep(step=step, plan=plan, tasks=tasks, stops=stops, budgets=budgets))

    async def _answer(self, participant: str, prompt: str) -> Answer:
        """Return what a participant says: as recorded, else from the model, and recorded before it counts."""
        self._speaker = participant
        heard = self._next_heard(TeamTurn, participant)
        self._repeats = heard is not None
        if heard:
            return Answer(heard.text, heard.usage.prompt_tokens, heard.usage.completion_tokens)
        if spent := self._task.budget.spent(self._spent):
            raise TaskAbortedError(f"The team has spent its budget: {spent}.")
        ask = self._speech.ask if participant in (PLANNER, LEADER) else self._ask_robot
        text, usage = await ask(participant, prompt)
        await self._record.write_turn(TeamTurn(participant=participant, text=text, usage=usage), prompt)
        self._record.add_usage(usage)
        self._talk = self._talk.plus(usage)
        return Answer(text, usage.prompt_tokens, usage.completion_tokens)

    def _next_heard(self, kind: type[Heard], participant: str) -> Heard | None:
        """Take the next recorded turn or program of a participant, None without one; then the rest is dropped."""
        heard = self._heard.pop(0) if self._heard else None
        if isinstance(heard, kind) and heard.participant == participant:
            return heard
        self._heard.clear()
        return None

    async def _tell_refusal(self, participant: str, wrong: str) -> None:
        if not self._repeats:
            await self._record.write(Note(text=f"what {participant} said was refused: {wrong}"[:2000]))

    async def _ask_robot(self, participant: str, prompt: str) -> tuple[str, Usage]:
        """Ask the participant of a robot over the stream of turns. Raises ParticipantLostError."""
        if len(prompt) > MAX_PROMPT:
            told = f"its prompt has {len(prompt)} characters; at most {MAX_PROMPT} are sent"
            raise ParticipantLostError(participant, told)
        queue = self._bus.turns
        fields = self._request_fields(queue, participant)
        request = TurnRequest(prompt=prompt, grant=self._speech.grant(), **fields)
        try:
            answer = await queue.ask(request, self._context.settings.agent_absent_s)
        except (NoAnswerError, ContractError) as error:
            raise ParticipantLostError(participant, str(error)) from error
        if answer.error_code != "NONE":
            raise ParticipantLostError(participant, f"{answer.error_code}: {answer.text}")
        return answer.text, answer.usage

    def _request_fields(self, queue: TurnQueue | ProgramQueue, robot: str) -> dict[str, Any]:
        """Return what a turn and a program have in common."""
        now, request_id = time.time(), f"{self._task.task_id}-{queue.kind}-{secrets.token_hex(8)}"
        return {
            "request_id": request_id,
            "task_id": self._task.task_id,
            "robot": robot,
            "created_at": now,
            "deadline": now + min(self._record.left_s, self._context.settings.model_timeout_s),
            "reply_to": queue.reply_stream(request_id),
            "traceparent": tracing.traceparent(),
        }

    async def _note_ends(self, underway: "dict[str, asyncio.Task[TaskStatus]]") -> None:
        """Wait until at least one robot has done its errand, and note what has come of it."""
        await asyncio.wait(underway.values(), return_when=asyncio.FIRST_COMPLETED)
        for robot in [robot for robot, work in underway.items() if work.done()]:
            end = await read_end(self._bus, underway.pop(robot).result(), self._brief.names)
            self._record.add_usage(end.usage)
            await self._note(
                TeamStepEnded(
                    step=self._state.running[robot].step,
                    outcomes={robot: end.code},
                    reasons={robot: end.reason} if end.reason else {},
                    holding={robot: end.holding} if end.holding else {},
                    usage={robot: end.usage},
                    spent={robot: end.spent},
                )
            )

    async def _do(self, robot: str, assigned: Part) -> TaskStatus:
        """Have one robot do its errand, and return how its task has ended."""
        task, now, left_s = self._task, time.time(), self._record.left_s
        sentence, step = self._order(robot, assigned)
        part = Task(
            task_id=assigned.task,
            sentence=sentence,
            robot=robot,
            created_at=now,
            deadline=now + left_s,
            timeout_s=max(1.0, left_s),
            budget=assigned.budget or task.budget,
            step=step,
            parent=task.task_id,
            traceparent=task.traceparent,
            # Submitted once, however many replicas come to it.
            submission=hashlib.sha256(assigned.task.encode()).hexdigest(),
        )
        status = await self._bus.tasks.submit(part, sentence)
        unable_since: float | None = None
        while status.state not in TERMINAL:
            await asyncio.sleep(POLL_S)
            status = await self._bus.statuses.get(part.task_id) or status
            if status.state is State.QUEUED:
                state, why = await self._context.fleet.state(robot)
                unable_since = (unable_since or time.monotonic()) if state in LEFT else None
                gone = unable_since is not None and time.monotonic() - unable_since > ABSENT_AFTER_S
                if gone or state is RobotState.STOPPED:
                    await self._withdraw(status, f"the team goes on without {robot}: {why}")
        return status

    def _order(self, robot: str, assigned: Part) -> tuple[str, DirectStep | None]:
        """Return the sentence of a robot's task, and the skill that it is where it needs no model."""
        if area := assigned.parks_in:
            arguments = ApproachArguments(target_area=area, object_name=PARKING, next_action=NextAction.FLOOR_PLACE)
            return f"Park in the {area}.", DirectStep(skill=Skill.APPROACH, arguments=arguments)
        errand = self._state.by_action(assigned.action)
        to = "in" if any(container.name == errand.target for container in self._brief.site.containers) else "on"
        if self._state.holding.get(robot) == errand.thing:
            return f"You are holding the {errand.thing}. Place it {to} the {errand.target}.", None
        source = f" in the {errand.area}" if errand.area in {area.name for area in self._brief.site.areas} else ""
        return f"Pick up the {errand.thing}{source} and place it {to} the {errand.target}.", None

    async def _withdraw(self, status: TaskStatus, reason: str) -> None:
        await self._bus.tasks.cancel(status.task.task_id, reason)
        await end_unstarted(self._bus, status)

    def _report(self, problem: str) -> TaskReport:
        """Return the report, from what the tasks of the robots have come to."""
        state = self._state
        rows = [
            DeliveryOutcome(
                object_name=errand.thing,
                target=errand.target,
                completed=thing in state.done,
                error_code="NONE" if thing in state.done else state.code(thing),
                reason="" if thing in state.done else state.reason(thing)[:2000],
            )
            for thing, errand in state.errands.items()
        ]
        done = sum(row.completed for row in rows)
        left = "".join(f" {robot} dropped out ({one.error_code}: {one.reason})." for robot, one in state.left.items())
        steps = "1 step" if state.steps == 1 else f"{state.steps} steps"
        summary = f"{done} of {len(rows)} objects moved in {steps}.{left} {problem}".strip()
        return TaskReport(success=bool(rows) and done == len(rows), summary=summary[:4000], objects=rows[:50])

    async def _conclude(self, work: "asyncio.Task[TaskReport]") -> None:
        error = work.exception()
        if error is None:
            report = work.result()
        elif isinstance(error, BusUnavailableError | LeaseLostError):
            raise error
        else:
            if not isinstance(error, TeamError | TaskAbortedError):
                log.error("task of a team failed", exc_info=error)
            await self._end_parts(f"the team's task failed: {error}")
            report = self._report(f"{type(error).__name__}: {error}").model_copy(update={"success": False})
        await self._record.end(State.SUCCEEDED if report.success else State.FAILED, report)

    async def _end_early(self, interruptions: Interruptions) -> None:
        reason, end = await interruptions.note()
        await self._end_parts(reason)
        report = self._report(f"{reason}.").model_copy(update={"success": False})
        await self._record.end(end, report)

    async def _end_parts(self, reason: str) -> None:
        """Cancel the tasks of the robots and wait until they rest."""
        parts = [part.task for part in self._state.running.values()]
        end = time.monotonic() + self._context.settings.cancel_wait_s + 5
        while time.monotonic() < end:
            found = [await self._bus.statuses.get(part) for part in parts]
            open_ones = [one for one in found if one is not None and one.state not in TERMINAL]
            if not open_ones:
                return
            for status in open_ones:
                await self._withdraw(status, reason)
            await asyncio.sleep(POLL_S)
        await self._record.write(Note(text=f"tasks that may still run: {', '.join(parts)}; look at the robots"))

    async def _note(self, event: Happening) -> None:
        await self._record.write(event)
        self._state.apply(event)


async def _cancel(*tasks: "asyncio.Task[object]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
