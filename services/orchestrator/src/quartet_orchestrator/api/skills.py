"""Routes of single skills: a task whose only step is one skill."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from quartet_contracts import (
    MAX_SENTENCE,
    ApproachArguments,
    DirectStep,
    Identifier,
    PickArguments,
    PlaceArguments,
    Skill,
    SkillArguments,
    TaskStatus,
    TaskSubmission,
)
from quartet_orchestrator.api.tasks import IdempotencyKey, TaskDesk, accepted
from quartet_orchestrator.words import step_sentence

Timeout = Annotated[float, Query(gt=0, le=86_400)]


def skill_routes(desk: TaskDesk) -> APIRouter:
    router = APIRouter(prefix="/skills", tags=["skills"])

    async def accept(
        skill: Skill, arguments: SkillArguments, robot: str | None, timeout_s: float, key: str | None
    ) -> Response:
        sentence = step_sentence(skill, arguments.model_dump(mode="json", exclude_none=True))[:MAX_SENTENCE]
        submission = TaskSubmission(sentence=sentence, robot=robot, timeout_s=timeout_s)
        return accepted(await desk.accept(submission, DirectStep(skill=skill, arguments=arguments), key))

    @router.post("/approach", status_code=202, response_model=TaskStatus)
    async def approach(
        arguments: ApproachArguments,
        robot: Identifier | None = None,
        timeout_s: Timeout = 600,
        idempotency_key: IdempotencyKey = None,
    ) -> Response:
        return await accept(Skill.APPROACH, arguments, robot, timeout_s, idempotency_key)

    @router.post("/pick", status_code=202, response_model=TaskStatus)
    async def pick(
        arguments: PickArguments,
        robot: Identifier | None = None,
        timeout_s: Timeout = 600,
        idempotency_key: IdempotencyKey = None,
    ) -> Response:
        return await accept(Skill.PICK, arguments, robot, timeout_s, idempotency_key)

    @router.post("/place", status_code=202, response_model=TaskStatus)
    async def place(
        arguments: PlaceArguments,
        robot: Identifier | None = None,
        timeout_s: Timeout = 600,
        idempotency_key: IdempotencyKey = None,
    ) -> Response:
        return await accept(Skill.PLACE, arguments, robot, timeout_s, idempotency_key)

    return router
