"""The orchestrator: read the sentence, state a plan, have each object carried, report what became of it."""

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from quartet_scripted_model.conversation import Conversation
from quartet_scripted_model.language.grammar import SIMPLE_ENGLISH, NotUnderstoodError, read
from quartet_scripted_model.language.meaning import Spot
from quartet_scripted_model.language.vocabulary import Kind as ThingKind
from quartet_scripted_model.language.vocabulary import Vocabulary, vocabulary_of
from quartet_scripted_model.misbehaviour import Kind
from quartet_scripted_model.policies.carry import Carrier, Outcome
from quartet_scripted_model.policies.jobs import Job, UnclearName, UnknownName, settle, settle_drive
from quartet_scripted_model.turn import Call, Policy, Result, Turn

REPORT = "report_task_result"
SCRIPTED = f"{SIMPLE_ENGLISH} To use an LLM: QUARTET_MODEL, docs/models.md."


def policy(talk: Conversation, misreading: Kind | None = None) -> Policy:
    """Play the orchestrator in `talk`; with a `misreading` its job is not the one that the sentence asks for."""
    vocabulary = vocabulary_of(talk.facts)
    try:
        request = read(talk.sentence, vocabulary)
    except NotUnderstoodError as error:
        summary = f"I did nothing, since I do not understand the sentence. {error} {SCRIPTED}"
        yield from _report(talk, [], summary, code="NOT_UNDERSTOOD")
        return
    if problem := next((why for _, spot in request.drives if (why := settle_drive(vocabulary, spot)[2])), ""):
        yield from _report(talk, [], f"I did nothing. {problem}")
    elif request.deliveries:
        jobs = yield from settle(talk, vocabulary, request.deliveries)
        yield from _carry(talk, vocabulary, jobs, request.drives, misreading)
    else:
        yield from _drive(talk, vocabulary, [spot for _, spot in request.drives])


def _carry(
    talk: Conversation,
    vocabulary: Vocabulary,
    jobs: list[Job],
    drives: list[tuple[int, Spot]],
    misreading: Kind | None,
) -> Generator[Turn, Result, None]:
    jobs, carried = _misread(misreading, jobs, vocabulary)
    plan = _plan(jobs)
    carrier = Carrier(talk, plan)
    rows: list[dict[str, Any]] = []
    failed_at: str | None = None
    unknown = next((job.problem for job in jobs if isinstance(job.problem, UnknownName)), "")
    stopped = unknown and f"the sentence is not understood. {unknown}"
    missed = ""
    for number, (job, to_carry) in enumerate(zip(jobs, carried, strict=False)):
        if not stopped:
            missed += yield from _visit(carrier, vocabulary, [spot for at, spot in drives if at == number])
        if job.problem:
            code = "UNKNOWN_NAME" if isinstance(job.problem, UnknownName) else "UNKNOWN"
            rows.append(_row(job, Outcome(False, code, job.problem)))
            continue
        if stopped:
            rows.append(_row(job, Outcome(False, "UNKNOWN", f"Not tried: {stopped}")))
            continue
        outcome = yield from carrier.carry(to_carry)
        rows.append(_row(job, outcome))
        if outcome.stop:
            stopped = outcome.reason
        elif not outcome.completed and outcome.stage and outcome.stage == failed_at:
            stopped = f"two objects in a row failed at {outcome.stage}."
        failed_at = None if outcome.completed else outcome.stage
    done = sum(r["completed"] for r in rows)
    if not stopped:
        missed += yield from _visit(carrier, vocabulary, [spot for at, spot in drives if at >= len(jobs)])
    elif any(at >= len(jobs) for at, _ in drives):
        missed += f" The last drive was not tried: {stopped}"
    summary = f"{done} of {len(rows)} done. " + " ".join(_sentence(r) for r in rows) + missed
    unclear = next((job.problem for job in jobs if isinstance(job.problem, UnclearName)), "")
    code = "NOT_UNDERSTOOD" if unknown else "AMBIGUOUS" if unclear else "NONE"
    yield from _report(
        talk, rows, summary, success=False if missed else None, say="" if carrier.spoke else plan, code=code
    )


def _misread(kind: Kind | None, jobs: list[Job], vocabulary: Vocabulary) -> tuple[list[Job], list[Job]]:
    """Return the jobs that are planned and reported, and those that are carried out for them."""
    first, last = jobs[0], jobs[-1]
    match kind:
        case Kind.FORGOTTEN_OBJECT:
            return jobs[:-1], jobs[:-1]
        case Kind.DROPPED_OBJECT:
            return jobs, jobs[:-1]
        case Kind.SWAPPED_TARGETS if len(jobs) > 1:
            return jobs, [_with_target_of(last, first), *jobs[1:-1], _with_target_of(first, last)]
        case Kind.RENAMED_OBJECT:
            used = {job.item for job in jobs}
            other = next(thing.name for thing in vocabulary.things(ThingKind.OBJECT) if thing.name not in used)
            return jobs, [replace(first, item=other, names=[]), *jobs[1:]]
        case _:
            return jobs, jobs


def _with_target_of(other: Job, job: Job) -> Job:
    return replace(job, target=other.target, target_area=other.target_area, next_action=other.next_action)


def _drive(talk: Conversation, vocabulary: Vocabulary, spots: list[Spot]) -> Generator[Turn, Result, None]:
    """Drive to each spot, with nothing to be carried."""
    where = [_where(spot, vocabulary) for spot in spots]
    carrier = Carrier(talk, f"Plan: drive until the robot stands {', then '.join(where)}; nothing is to be carried.")
    missed = yield from _visit(carrier, vocabulary, spots)
    summary = missed.strip() or f"The robot stood {', then '.join(where)}."
    yield from _report(talk, [], summary, success=not missed)


def _visit(carrier: Carrier, vocabulary: Vocabulary, spots: list[Spot]) -> Generator[Turn, Result, str]:
    """Drive to each spot until one is not reached; return a sentence on that one, '' if all were reached."""
    for spot in spots:
        area, thing, _ = settle_drive(vocabulary, spot)
        result = yield from carrier.approach(area, thing, "look")
        if not result.ok:
            return f" The robot does not stand {_where(spot, vocabulary)}: {result.code}. {result.message}"
    return ""


def _where(spot: Spot, vocabulary: Vocabulary) -> str:
    area, thing, _ = settle_drive(vocabulary, spot)
    return f"in the {area}" if thing == area else f"at the {thing} in the {area}"


def _plan(jobs: list[Job]) -> str:
    lines = ["Plan:", "| object | pick up at | put down at |", "|---|---|---|"]
    lines += [f"| {j.said} | {j.pickup_text} | {j.target_text} |" for j in jobs]
    return "\n".join([*lines, *(f"Not to be done: {j.said}. {j.problem}" for j in jobs if j.problem)])


def _row(job: Job, outcome: Outcome) -> dict[str, Any]:
    return {
        "object_name": job.said[:200],
        "target": job.target_text[:200] if job.target else "",
        "completed": outcome.completed,
        "error_code": outcome.code,
        "reason": outcome.reason[:2000],
    }


def _sentence(row: dict[str, Any]) -> str:
    if row["completed"]:
        return f"{row['object_name']}: {row['reason']}"
    return f"{row['object_name']}: not done ({row['error_code']}): {row['reason']}"


def _report(
    talk: Conversation,
    rows: list[dict[str, Any]],
    summary: str,
    *,
    success: bool | None = None,
    say: str = "",
    code: str = "NONE",
) -> Generator[Turn, Result, None]:
    if success is None:
        success = bool(rows) and all(r["completed"] for r in rows)
    arguments = talk.fit(REPORT, success=success, summary=summary[:4000], error_code=code, objects=rows)
    rejected = yield Call(REPORT, arguments, say)
    # The code that checks the claim knows better: report again without it.
    why = rejected.message.partition("\n")[0]
    honest = f"{summary[:3000]} The report of success was rejected: {why}" if success else summary[:4000]
    yield Call(REPORT, talk.fit(REPORT, success=False, summary=honest, error_code=code, objects=rows))
