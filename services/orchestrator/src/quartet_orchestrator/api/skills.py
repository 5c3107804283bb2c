"""Routes of single skills; each makes a task whose only step is that skill."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from quartet_contracts import (
    ARGUMENTS,
    MAX_SENTENCE,
    MODEL_SKILLS,
    DirectStep,
    Identifier,
    Skill,
    SkillArguments,
    StepArguments,
    TaskStatus,
    TaskSubmission,
)
from quartet_contracts.story import skill_words
from quartet_orchestrator.api.tasks import IdempotencyKey, accepted
from quartet_orchestrator.tasks import TaskService

Timeout = Annotated[float, Query(gt=0, le=86_400)]


def skill_routes(service: TaskService) -> APIRouter:
    """Return the routes, one for each skill."""
    router = APIRouter(prefix="/skills", tags=["skills"])

    async def accept(
        skill: Skill, arguments: StepArguments, robot: str | None, timeout_s: float | None, key: str | None
    ) -> Response:
        sentence = skill_words(skill, arguments.model_dump(mode="json", exclude_none=True))[:MAX_SENTENCE]
        chosen = {} if timeout_s is None else {"timeout_s": timeout_s}
        submission = TaskSubmission.model_validate({"sentence": sentence, "robot": robot, **chosen})
        return accepted(await service.accept(submission, DirectStep(skill=skill, arguments=arguments), key))

    def add(skill: Skill, model: type[SkillArguments]) -> None:
        @router.post(
            f"/{skill}",
            name=str(skill),
            description=f"Give a task whose only step is {skill}.",
            status_code=202,
            response_model=TaskStatus,
        )
        async def _(
            arguments: model,  # pyright: ignore[reportInvalidTypeForm]
            robot: Identifier | None = None,
            timeout_s: Timeout | None = None,
            idempotency_key: IdempotencyKey = None,
        ) -> Response:
            return await accept(skill, arguments, robot, timeout_s, idempotency_key)

    for skill in MODEL_SKILLS:
        add(skill, ARGUMENTS[skill])
    return router
