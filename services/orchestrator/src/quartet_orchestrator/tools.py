"""The tools that the orchestrator's model sees: three skills, a look, a question."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError

from quartet_agent_runtime import LocalTool, LocalTools, Progress, ToolOutcome, ToolSpec, failure, from_outside
from quartet_contracts import ARGUMENTS, Arguments, Skill, SkillArguments, SkillResult, State, describe
from quartet_contracts.journal import Note
from quartet_orchestrator.eyes import Eyes
from quartet_orchestrator.ledger import Ledger
from quartet_orchestrator.pauses import Gate
from quartet_orchestrator.progress import TaskRecord
from quartet_orchestrator.questions import Person
from quartet_orchestrator.rules import Rules
from quartet_orchestrator.skill_calls import SkillCaller
from quartet_orchestrator.steps import details
from quartet_orchestrator.wording import Wording

DESCRIPTIONS = {
    Skill.APPROACH: "Tuck the arm, drive to an area and stand before a thing there. Needed before each pick and place.",
    Skill.PICK: "Grasp the object that the robot stands before, and lift it.",
    Skill.PLACE: "Put the held object on or into the thing that the robot stands before, or on the floor.",
}


class LookArguments(Arguments):
    """See through the robot's cameras."""

    camera: Annotated[Literal["front", "arm", "both"], Field(description="front: mast, arm: wrist.")] = "both"


class QuestionArguments(Arguments):
    """A question to the person who gave the task."""

    question: Annotated[str, Field(min_length=1, max_length=1000, description="One short question.")]


class TaskTools:
    """The tools of one task."""

    def __init__(
        self,
        record: TaskRecord,
        ledger: Ledger,
        rules: Rules,
        caller: SkillCaller,
        eyes: Eyes,
        person: Person,
        gate: Gate,
        wording: Wording,
    ) -> None:
        self._record = record
        self._ledger = ledger
        self._rules = rules
        self._caller = caller
        self._eyes = eyes
        self._person = person
        self._gate = gate
        self._wording = wording

    def build(self) -> LocalTools:
        skills = [
            LocalTool(_spec(str(skill), DESCRIPTIONS[skill], ARGUMENTS[skill]), self._skill_handler(skill))
            for skill in Skill
        ]
        look = LocalTool(_spec("look", "See what the robot's cameras show now.", LookArguments), self._look)
        ask = LocalTool(
            _spec(
                "ask_person",
                "Ask the person who gave the task; the task waits for the answer. Only when the sentence leaves open "
                "what is needed and looking cannot tell.",
                QuestionArguments,
            ),
            self._ask,
        )
        return LocalTools([*skills, look, ask])

    def _skill_handler(self, skill: Skill) -> Any:
        async def handle(raw: dict[str, Any], _progress: Progress) -> ToolOutcome:
            try:
                arguments: Any = ARGUMENTS[skill].model_validate(raw)
            except ValidationError as error:
                return failure("INVALID_ARGUMENTS", describe(error))
            return await self.run_skill(skill, arguments)

        return handle

    async def run_skill(self, skill: Skill, arguments: SkillArguments) -> ToolOutcome:
        """Refuse by the rules, or run one attempt and write down what came of it."""
        if not self._caller.is_ready(arguments):
            await self._gate.step()
            if reason := self._wording.refusal(arguments) or self._rules.refusal(arguments):
                await self._record.write(Note(text=f"refused {skill}: {reason}"))
                return failure("REFUSED", reason, success=False)
        step = await self._caller.call(skill, arguments)
        self._ledger.note(arguments, step.result, step.settled)
        self._wording.hear(step.result)
        return ToolOutcome(answer_of(step.result))

    async def _look(self, raw: dict[str, Any], progress: Progress) -> ToolOutcome:
        await self._gate.step()
        outcome = await self._eyes.look(str(raw.get("camera", "both")), progress)
        self._ledger.note_look(ok=outcome.ok)
        return outcome

    async def _ask(self, raw: dict[str, Any], _progress: Progress) -> ToolOutcome:
        answer = await self._person.ask(str(raw["question"]))
        if answer is None:
            return failure("NO_ANSWER", "nobody answered in time: decide without the answer, or report")
        self._wording.trust(answer)
        return ToolOutcome({"ok": True, "answer": answer})


def answer_of(result: SkillResult) -> dict[str, Any]:
    """What the model reads of a sub-agent's result: never its tool trace."""
    content: dict[str, Any] = {
        "ok": result.success,
        "success": result.success,
        "error_code": str(result.error_code),
        "reason": result.reason,
        "tool_calls_used": result.tool_calls_used,
        **details(result),
    }
    if result.state is State.UNCERTAIN:
        content["state"] = str(result.state)
        content["observed"] = result.observed
    return from_outside(content)


def _spec(name: str, description: str, model: type[BaseModel]) -> ToolSpec:
    return ToolSpec(name, description, model.model_json_schema())
