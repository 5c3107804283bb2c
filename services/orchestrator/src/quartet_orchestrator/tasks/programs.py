"""A task that a team of models does with one robot's arm by programs: SA, MA and MALMM on a deployment."""

from collections.abc import Awaitable, Callable

from quartet_contracts import (
    DeliveryOutcome,
    ExecutorArguments,
    PickCode,
    PlaceCode,
    Skill,
    State,
    Task,
    TaskReport,
    Usage,
)
from quartet_contracts.journal import Note, TeamTurn
from quartet_orchestrator.errors import TaskAbortedError
from quartet_orchestrator.recovery import AttemptOutcome, History, TaskRecord
from quartet_orchestrator.skills import SkillCaller
from quartet_orchestrator.tasks.arm import RobotArm
from quartet_orchestrator.tasks.facts import GripperContent, TaskFacts
from quartet_orchestrator.tasks.names import SiteNames
from quartet_orchestrator.tasks.sightings import Sightings
from quartet_orchestrator.tasks.speech import Speech
from quartet_orchestrator.tasks.verbs import asks_to_handle, asks_to_put
from quartet_site import RobotSetup
from quartet_teams import Answer, Discussion
from quartet_teams.malmm import MOST_ERRORS, Ending, Outcome, work

WHY = {
    Ending.GAVE_UP: f"The team gave up after {MOST_ERRORS} errors of code or plan in a row",
    Ending.CALLS: "The team has asked its models too often",
    Ending.PROGRAMS: "The team has run too many programs",
    Ending.NOT_CLAIMED: "The team's programs ended, and it did not say that the task is done",
}


NOT_SEEN = "no camera has shown it near the arm's reach"
FIRST = (
    "The base does not move while a team works with programs: a robot that drives can be sent there first, by "
    "`quartet approach AREA OBJECT pick`."
)


class ProgramTeam:
    """The conversation of one task, from where its journal ends.

    Every turn and every program is in the journal before it counts; a replica that takes the task over hears the turns
    again, takes the results of the programs that have ended from the journal, and goes on from there.
    """

    def __init__(
        self,
        record: TaskRecord,
        caller: SkillCaller,
        speech: Speech,
        facts: TaskFacts,
        setup: RobotSetup,
        history: History,
        look_at_gripper: Callable[[], Awaitable[None]],
    ) -> None:
        """`look_at_gripper`: has the facts know what the gripper's own sensors say."""
        self._record = record
        self._caller = caller
        self._speech = speech
        self._facts = facts
        self._look_at_gripper = look_at_gripper
        self._names = SiteNames(setup.site)
        self._heard = list(history.turns)
        self._done = [one for one in history.attempts if one.started and one is not history.last]
        self._spent = Usage()
        self._arm = RobotArm(self._task.sentence, setup, self._call)
        self._sightings = Sightings(caller.sightings, setup.site)

    @property
    def _task(self) -> Task:
        return self._record.task

    async def run(self) -> tuple[State, TaskReport]:
        """Let the team work until it claims to be done, gives up or has spent its budget. Raises TaskAbortedError.

        No model is asked where nothing that the sentence names is before the arm.
        """
        await self._arm.look()
        named, unseen = self._named(self._task.sentence), self._unseen()
        if named and len(unseen) == len(named):
            return State.FAILED, TaskReport(success=False, summary=f"{_out_of_view(unseen)} {FIRST}", objects=unseen)
        outcome = await work(self._task.team or "", self._arm, Discussion(self._answer))
        self._facts.gripper = GripperContent.UNCERTAIN
        await self._look_at_gripper()
        faults = self._faults() if outcome.ending is Ending.COMPLETED else [WHY[outcome.ending]]
        if outcome.ending is Ending.COMPLETED and faults:
            await self._record.write(Note(text=f"the team claims to be done; {'; '.join(faults)}"))
        unseen = self._unseen() if faults else []
        report = TaskReport(success=not faults, summary=self._summary(outcome, faults)[:4000], objects=unseen)
        return (State.FAILED if faults else State.SUCCEEDED), report

    async def _answer(self, participant: str, prompt: str) -> Answer:
        """Return what a participant says: as recorded, else from the model, and recorded before it counts."""
        if self._heard:
            heard = self._heard.pop(0)
            usage = heard.usage
            if heard.participant != participant:
                raise TaskAbortedError(
                    f"The journal has a turn of {heard.participant} where {participant} is to speak."
                )
            text = heard.text
        else:
            await self._record.wait_while_paused()
            if spent := self._task.budget.spent(self._spent):
                raise TaskAbortedError(f"The team has spent its budget: {spent}.")
            text, usage = await self._speech.ask(participant, prompt)
            turn = TeamTurn(participant=participant, text=text, usage=usage, about="program")
            await self._record.write_turn(turn, prompt)
        self._record.add_usage(usage)
        self._spent = self._spent.plus(usage)
        return Answer(text, usage.prompt_tokens, usage.completion_tokens)

    async def _call(self, arguments: ExecutorArguments) -> AttemptOutcome:
        """Have the executor do a request, or return what the journal has of it."""
        self._spent = self._spent.plus(Usage(tool_calls=1))
        if self._done:
            attempt = self._done.pop(0)
            self._sightings.forget()
            outcome = AttemptOutcome(attempt.arguments, attempt.result(self._task.task_id), attempt.settled)
        else:
            limit = self._task.budget.tool_calls
            if self._spent.tool_calls > limit:
                raise TaskAbortedError(f"The team has spent its budget: {limit} of {limit} programs.")
            if not self._caller.is_ready(arguments):
                await self._record.wait_while_paused()
            outcome = await self._caller.call(Skill.EXECUTOR, arguments)
            await self._sightings.note()
        self._facts.note(outcome.arguments, outcome.result, outcome.settled)
        return outcome

    def _thing(self, name: str) -> str:
        """Return the site's name of a thing in the state: `red coke can` of the second of them, `red coke can 2`."""
        return next(iter(self._names.objects_in(name)), name)

    def _named(self, text: str) -> list[str]:
        return [*self._names.objects_in(text), *self._names.places_in(text)]

    @property
    def _asked_objects(self) -> list[str]:
        return self._names.objects_in(self._task.sentence)

    @property
    def _asked_places(self) -> list[str]:
        return self._names.places_in(self._task.sentence)

    def _unseen(self) -> list[DeliveryOutcome]:
        """Return what the sentence names and no camera has shown near the arm's reach."""
        names = [*(one.name for one in self._arm.scene.objects), *self._arm.inside().values()]
        # By the words of each: the second of two cans is "can 2", and a site may have a "shelf 2".
        seen = {one for name in names for one in self._named(name)}
        objects = dict.fromkeys(self._asked_objects, PickCode.PICK_SEG_MISSED)
        places = dict.fromkeys(self._asked_places, PlaceCode.PLACE_SEG_MISSED)
        return [
            DeliveryOutcome(object_name=name, completed=False, error_code=code, reason=NOT_SEEN)
            for name, code in (*objects.items(), *places.items())
            if name not in seen
        ]

    def _faults(self) -> list[str]:
        """Return what the sensors say against the team's claim to be done.

        What the sentence means is for the models; what can be measured without it is: a task changes something, what
        is asked to be picked up is in the gripper at the end, and what is asked to be put somewhere is not.
        """
        sentence, held, made_up = self._task.sentence, self._held, self._not_borne_out()
        moved = [name for name in self._arm.moved() if name not in made_up]
        holds = self._facts.gripper in {GripperContent.OBJECT, GripperContent.SOMETHING}
        asked = set(self._asked_objects)
        inside = {name: place for name, place in self._arm.inside().items() if self._thing(name) in asked}
        faults = [
            f"the {name} has not been seen since it was let go"
            for name in self._arm.unsure()
            if self._thing(name) in asked
        ]
        faults += [f"{told}: the {name}" for name, told in made_up.items() if self._thing(name) in asked or not asked]
        if not holds and not moved:
            faults.append("nothing was moved and the gripper holds nothing")
        if asks_to_put(sentence):
            if holds:
                faults.append(f"the gripper still holds {f'the {held}' if held else 'something'}")
            if asked and not asked & set(map(self._thing, moved)):
                faults.append(f"nothing that the task names was moved ({', '.join(sorted(asked))})")
            places = set(self._asked_places)
            faults += [
                f"the {one.object_name}, which the task names, was never in view"
                for one in self._unseen()
                if one.object_name in places
            ]
            faults += [
                f"the {name} was let go over the {place}, which the task does not name"
                for name, place in sorted(inside.items())
                if places and self._names.place(place) not in places
            ]
        elif asks_to_handle(sentence):
            if not holds:
                faults.append("the gripper's sensors say that it holds nothing")
            elif asked and (held is None or self._thing(held) not in asked):
                faults.append(f"the gripper holds {f'the {held}' if held else 'something else'}")
        return faults

    @property
    def _held(self) -> str | None:
        """Name of what the gripper holds: as the wrist camera shows it now, else as the executor tells."""
        return self._facts.in_hand or self._arm.scene.held

    def _not_borne_out(self) -> dict[str, str]:
        """Return the things that the executor tells to be moved and nothing measured shows to be, each with why."""
        inside, found = self._arm.inside(), dict[str, str]()
        for name in self._arm.moved():
            place = inside.get(name)
            if place is not None:
                if not self._sightings.bear_out_release(self._names.place(place) or place):
                    found[name] = "nothing was measured to be let go over its container"
            elif name != self._arm.scene.held and not self._sightings.bear_out_move(self._thing(name)):
                found[name] = "the cameras have not seen it in another place than before"
        return found

    def _summary(self, outcome: Outcome, faults: list[str]) -> str:
        made_up = self._not_borne_out()
        moved = ", ".join(
            f"{name} by {metres:.2f} m"
            for name, metres in self._arm.moved().items()
            if name not in {*self._arm.inside(), *self._arm.unsure(), *made_up}
        )
        inside = {name: place for name, place in self._arm.inside().items() if name not in made_up}
        held, unsure = self._held, self._arm.unsure()
        into = ", ".join(f"{name} over the {place}" for name, place in inside.items())
        if outcome.ending is not Ending.COMPLETED:
            end = f"{WHY[outcome.ending]}."
        else:
            but = f", but {'; '.join(faults)}" if faults else ""
            end = f"The team says that the task is done{but}."
        parts = [
            end,
            f"{outcome.executions} programs, {outcome.failed_executions} of them with an error.",
            f"Refused by a person or the policy: {self._arm.refused}." if self._arm.refused else "",
            f"Moved, by the cameras: {moved}." if moved else "",
            f"Let go, by the gripper's sensors, and not seen since: {into}." if into else "",
            f"Not seen since it was let go: {', '.join(unsure)}." if unsure else "",
            f"The gripper holds the {held}." if held else "",
            *([_out_of_view(unseen), FIRST] if faults and (unseen := self._unseen()) else []),
        ]
        return " ".join(part for part in parts if part)


def _out_of_view(unseen: list[DeliveryOutcome]) -> str:
    names = ", ".join(one.object_name for one in unseen)
    return f"Of what the task names no camera has shown near the arm's reach: {names}."
