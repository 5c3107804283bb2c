"""Tools of the orchestrator's model: three skills, a look, a question."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError

from quartet_agent_runtime import (
    LocalTool,
    LocalTools,
    Progress,
    ToolOutcome,
    ToolSpec,
    clean,
    failure,
    ignore_progress,
    mark_untrusted,
)
from quartet_contracts import (
    ARGUMENTS,
    MODEL_SKILLS,
    UNKNOWN_NAME,
    ApproachArguments,
    ApproachResult,
    Arguments,
    Choices,
    NextAction,
    PickCode,
    PickResult,
    ResultForm,
    Skill,
    SkillResult,
    State,
    StepArguments,
    describe,
)
from quartet_contracts.journal import Note
from quartet_orchestrator.observation import CameraClient
from quartet_orchestrator.recovery import AttemptOutcome, TaskRecord, skill_details
from quartet_orchestrator.skills import SkillCaller
from quartet_orchestrator.tasks.facts import GripperContent, TaskFacts
from quartet_orchestrator.tasks.name_check import NameCheck
from quartet_orchestrator.tasks.plan import StatedPlan
from quartet_orchestrator.tasks.questions import QuestionService
from quartet_orchestrator.tasks.rules import CallRules
from quartet_orchestrator.tasks.terms import TermPolicy
from quartet_orchestrator.tasks.verbs import asks_to_put_it

DESCRIPTIONS = {
    Skill.APPROACH: "Drive to an area and stop before a thing there. Needed before each pick and place.",
    Skill.PICK: "Grasp the object that the robot stands before, and lift it.",
    Skill.PLACE: "Put the held object on or into what the robot stands before, or on the floor.",
}
BEGINS = {
    Skill.APPROACH: "Begin to approach: tuck the arm, drive to an area, see the thing there.",
    Skill.PICK: "Begin to pick up the object that the robot stands before.",
    Skill.PLACE: "Begin to put the held object down at what the robot stands before, or on the floor.",
}
"""Of skills that the model does itself."""
UNREAD = frozenset({"object_id", "held_object_height_m"})
"""Fields of results that code passes on by itself."""
RunSkill = Callable[[Skill, StepArguments], Awaitable[ToolOutcome]]
"""What a call of a skill does."""


class LookArguments(Arguments):
    """See through the robot's cameras."""

    camera: Annotated[Literal["front", "arm", "both"], Field(description="front: mast, arm: wrist.")] = "both"


class QuestionArguments(Arguments):
    """A question to the person who gave the task."""

    question: Annotated[str, Field(min_length=1, max_length=1000, description="One short question.")]
    choices: Annotated[
        Choices,
        Field(description="The answers that there are, when they are few; the person may answer in other words."),
    ] = []


class TaskTools:
    """The tools of one task."""

    def __init__(
        self,
        record: TaskRecord,
        facts: TaskFacts,
        rules: CallRules,
        terms: TermPolicy,
        caller: SkillCaller,
        cameras: CameraClient,
        questions: QuestionService,
        name_check: NameCheck,
        plan: StatedPlan,
        results: ResultForm = ResultForm.TYPED,
    ) -> None:
        """`plan` is what the model has stated so far; `results`: how it reads those of skills."""
        self._record = record
        self._facts = facts
        self._rules = rules
        self._terms = terms
        self._caller = caller
        self._cameras = cameras
        self._questions = questions
        self._name_check = name_check
        self._results = results
        self._plan: StatedPlan | None = plan
        """None once the plan was compared with the site."""

    def build(self, begin: RunSkill | None = None) -> LocalTools:
        """Return the tools for the model's loop; with `begin` the three skills only begin, and the model does them."""
        descriptions = DESCRIPTIONS if begin is None else BEGINS
        skills = [
            LocalTool(
                _spec(str(skill), descriptions[skill], ARGUMENTS[skill]),
                self._skill_handler(skill, begin or self.run_skill),
            )
            for skill in MODEL_SKILLS
        ]
        look = LocalTool(_spec("look", "See what the robot's cameras show now.", LookArguments), self._look)
        ask = LocalTool(
            _spec(
                "ask_person",
                "Ask the person and wait for the answer, if looking cannot tell. `choices`: answers to choose from.",
                QuestionArguments,
            ),
            self._ask,
        )
        return LocalTools([*skills, look, ask])

    def _skill_handler(self, skill: Skill, run: RunSkill) -> Any:
        async def handle(raw: dict[str, Any], _progress: Progress) -> ToolOutcome:
            try:
                arguments = read_step(skill, raw)
            except ValidationError as error:
                return failure("INVALID_ARGUMENTS", describe(error))
            return await run(skill, arguments)

        return handle

    async def run_skill(self, skill: Skill, arguments: StepArguments) -> ToolOutcome:
        """Refuse the call by terms and rules, or make one attempt and note its outcome."""
        arguments = self.with_name_of_held(arguments)
        if refused := await self.refusal(skill, arguments):
            return refused
        outcome = self.note(arguments, await self._caller.call(skill, arguments))
        if not (outcome.ok and _only_looks(arguments)):
            return outcome
        seen = await self._look({}, ignore_progress)
        return replace(seen, content={**outcome.content, **seen.content}) if seen.ok else outcome

    def with_name_of_held(self, arguments: StepArguments) -> StepArguments:
        """Return the arguments with what the task knows and the model has left out: names and ids."""
        return self._facts.with_ids(self._facts.with_name_of_held(arguments))

    async def refusal(self, skill: Skill, arguments: StepArguments) -> ToolOutcome | None:
        """Return why no attempt is to be made now, by names, terms and rules; None when it may be."""
        if self._caller.is_ready(arguments):
            return None
        await self._record.wait_while_paused()
        if not _only_looks(arguments):
            await self._tell_unknown_names()
        if reason := await self._name_check.unknown(arguments):
            await self._record.write(Note(text=f"refused {skill}: {reason}"))
            return failure(UNKNOWN_NAME, f"nothing was moved: {reason}", success=False)
        if found := await self._look_at_own_hand(arguments):
            return found
        if reason := self._terms.refusal(arguments) or self._rules.refusal(arguments):
            await self._record.write(Note(text=f"refused {skill}: {reason}"))
            return failure("REFUSED", reason, success=False)
        return None

    def note(self, arguments: StepArguments, outcome: AttemptOutcome) -> ToolOutcome:
        """Take note of the outcome of an attempt, and return what the model reads of it."""
        self._facts.note(arguments, outcome.result, outcome.settled, outcome.alike_before)
        self._terms.hear(outcome.result)
        answer = prose_of if self._results is ResultForm.PROSE else answer_of
        return ToolOutcome(answer(outcome.result))

    async def _tell_unknown_names(self) -> None:
        """Tell, before the first motion, which part of the plan the site has no names for."""
        if self._plan is None or self._facts.objects or not self._plan.rows:
            return
        rows, self._plan = self._plan.rows, None
        if unknown := await self._name_check.unknown_of([n for row in rows for n in (row.object_name, row.target)]):
            names = ", ".join(f"'{name}'" for name in unknown)
            await self._record.write(
                Note(text=f"the site has no thing or place called {names}: that part may not be done")
            )

    async def _look_at_own_hand(self, arguments: StepArguments) -> ToolOutcome | None:
        """After an approach that missed an object, return a failure when the gripper holds that very thing.

        A task that was canceled may have left it there, where no search of further rooms would find it.
        """
        facts = self._facts
        if facts.gripper is not GripperContent.UNSEEN or facts.hand_seen:
            return None
        if not isinstance(arguments, ApproachArguments) or arguments.next_action is not NextAction.PICK:
            return None
        known = facts.objects.get(facts.names.thing(arguments.object_name))
        if known is None or not known.failed_approaches:
            return None
        facts.hand_seen = True
        facts.note_grasp(*await self._caller.look_at_gripper("search"))
        if not facts.held or facts.held != facts.names.thing(arguments.object_name):
            return None
        reason = f"nothing was moved: the gripper already holds '{facts.held}'"
        return failure(PickCode.PICK_HOLDING_ALREADY, reason, success=False, held_object=facts.held)

    async def _look(self, raw: dict[str, Any], progress: Progress) -> ToolOutcome:
        await self._record.wait_while_paused()
        outcome = await self._cameras.look(str(raw.get("camera", "both")), progress)
        self._facts.note_look(ok=outcome.ok)
        return outcome

    async def _ask(self, raw: dict[str, Any], _progress: Progress) -> ToolOutcome:
        try:
            given = QuestionArguments.model_validate(raw)
        except ValidationError as error:
            return failure("INVALID_ARGUMENTS", describe(error))
        if await self._holds_nothing():
            return failure(
                "NOTHING_HELD",
                "the gripper holds nothing, and the sentence does not name what is to be put\n"
                "Do not ask. Report that, and that the person should name the object",
            )
        # A person must see each character of what is taken for their word.
        choices = dict.fromkeys(" ".join(clean(choice).split()) for choice in given.choices)
        answer = await self._questions.ask(clean(given.question), [choice for choice in choices if choice])
        if answer is None:
            return failure("NO_ANSWER", "nobody answered in time\nDecide without the answer, or report")
        self._terms.trust(answer)
        return ToolOutcome({"ok": True, "answer": answer})

    async def _holds_nothing(self) -> bool:
        """Return whether the sentence is about what the gripper holds, and a look at it now shows that it is empty."""
        facts, sentence = self._facts, self._record.task.sentence
        if facts.objects or not asks_to_put_it(sentence) or facts.names.objects_in(sentence):
            return False
        if facts.gripper is GripperContent.UNSEEN:
            facts.hand_seen = True
            facts.note_grasp(*await self._caller.look_at_gripper("question"))
        return facts.gripper is GripperContent.EMPTY


def _only_looks(arguments: StepArguments) -> bool:
    return isinstance(arguments, ApproachArguments) and arguments.next_action is NextAction.LOOK


def read_step(skill: Skill, raw: dict[str, Any]) -> StepArguments:
    """Return the arguments of a call of a skill. Raises ValidationError."""
    arguments = ARGUMENTS[skill].model_validate(raw)
    assert isinstance(arguments, StepArguments)
    return arguments


def answer_of(result: SkillResult) -> dict[str, Any]:
    """Return what the model needs of a sub-agent's result for its next call."""
    content: dict[str, Any] = {"ok": result.success, "error_code": str(result.error_code), **skill_details(result)}
    content = {name: value for name, value in content.items() if name not in UNREAD}
    checks = content.pop("checks", None)
    if not result.success:
        content["reason"] = result.reason
    if isinstance(result, ApproachResult) and checks and not result.success:
        content["checks"] = {one.name: str(one.result) for one in result.checks}
    if result.state is State.UNCERTAIN:
        content["state"] = str(result.state)
        content["observed"] = result.observed
    return mark_untrusted(content)


def prose_of(result: SkillResult) -> dict[str, Any]:
    """Return a sub-agent's result in words, as a library of skills would give it: no code, no id."""
    words = [f"{result.skill} {'succeeded' if result.success else 'failed'}: {result.reason.rstrip('.')}."]
    if isinstance(result, PickResult) and result.held_object_height_m is not None:
        words.append(f"What is held is {result.held_object_height_m:.3f} m tall.")
    if result.state is State.UNCERTAIN:
        words.append(f"Its outcome is not known. {result.observed}")
    if result.withdrawn is not None:
        words.append("A person or a rule took the robot away.")
    return mark_untrusted({"ok": result.success, "success": result.success, "message": " ".join(words)})


def _spec(name: str, description: str, model: type[BaseModel]) -> ToolSpec:
    return ToolSpec(name, description, model.model_json_schema())
