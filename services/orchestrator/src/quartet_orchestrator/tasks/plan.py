"""Plan of a task: the table that the model states at the start, one row for each object, and its report must cover."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from quartet_contracts import DeliveryOutcome, JournalEvent
from quartet_contracts.journal import Answered, ModelTurn
from quartet_orchestrator.tasks.facts import TaskFacts

_ROW = re.compile(r"^\s*\|(.*)\|\s*$")
_RULE = re.compile(r"^[\s|:-]+$")
_TARGET = re.compile(r"drop|put|place|target|destination|deliver", re.IGNORECASE)
_PICKUP = re.compile(r"pick|from|source|start", re.IGNORECASE)
_NOTHING = {"", "-", "–", "—", "none", "n/a", "nothing"}
_KEPT = re.compile(
    r"((keeps?|kept|stays?|remains?|hold|held)( it)?\s*)?(holding( it)?|held|(in )?(the )?(gripper|hand))",
    re.IGNORECASE,
)
"""What a plan says of a thing that is only to be picked up."""
_MARKS = "*_` "
MAX_ROWS = 50


@dataclass(frozen=True)
class PlanRow:
    """One object of a plan."""

    object_name: str
    target: str
    """Where it is to be put; '' when the plan names no place."""


def stated_plan(events: Iterable[JournalEvent]) -> list[PlanRow]:
    """Return the plan that binds: the first that the model stated, or the first after a person's answer to it.

    Events are those of one task's journal. The result is empty when the model stated none.
    """
    plan: list[PlanRow] = []
    may_state = True
    for event in events:
        if event.request_id is not None:
            continue
        if isinstance(event.event, Answered):
            may_state = True
        elif isinstance(event.event, ModelTurn) and may_state and (rows := read_table(event.event.text)):
            plan, may_state = rows, False
    return plan


def read_table(text: str) -> list[PlanRow]:
    """Return the rows of the first Markdown table of `text` that has a column for objects."""
    rows: list[PlanRow] = []
    columns: tuple[int, int | None] | None = None
    for line in text.splitlines():
        match = _ROW.match(line)
        if match is None:
            if rows:
                break
            columns = None
            continue
        cells = [cell.strip(_MARKS) for cell in match[1].split("|")]
        if columns is None:
            columns = _columns(cells)
        elif not _RULE.match(line):
            row = _row(cells, *columns)
            rows += [] if row is None else [row]
    return rows[:MAX_ROWS]


def _columns(header: list[str]) -> tuple[int, int | None] | None:
    """Return the columns of object and target, None for a table that is no plan."""
    thing = next((at for at, name in enumerate(header) if "object" in name.casefold()), None)
    if thing is None:
        return None
    targets = [
        at for at, name in enumerate(header) if at != thing and _TARGET.search(name) and not _PICKUP.search(name)
    ]
    return thing, targets[-1] if targets else None


def _row(cells: list[str], thing: int, target: int | None) -> PlanRow | None:
    name = cells[thing] if thing < len(cells) else ""
    place = cells[target] if target is not None and target < len(cells) else ""
    if name.casefold() in _NOTHING:
        return None
    return PlanRow(name[:200], "" if place.casefold() in _NOTHING or _KEPT.fullmatch(place) else place[:200])


def compare_with_plan(
    outcomes: list[DeliveryOutcome], plan: list[PlanRow], facts: TaskFacts
) -> tuple[list[DeliveryOutcome], list[str]]:
    """Return the outcomes with every row of the plan, and what of the plan they do not show as done.

    A row without an outcome is added as not completed. An outcome that was put elsewhere than planned is not completed.
    """
    result = list(outcomes)
    faults: list[str] = []
    free = set(range(len(outcomes)))
    rows = Counter(facts.names.thing_in(row.object_name) for row in plan)
    for row, at in _matches(outcomes, plan, facts, free):
        if at is None:
            reason = "the plan names it, and the report does not"
            missing = DeliveryOutcome(object_name=row.object_name, target=row.target, completed=False)
            result.append(missing.model_copy(update={"error_code": "UNKNOWN", "reason": reason}))
            faults.append(f"{row.object_name}: {reason}")
        elif outcomes[at].completed and (elsewhere := _elsewhere(row, outcomes[at], facts, rows)):
            reason = f"the plan puts it at '{row.target}', and it was put at '{elsewhere}'"
            result[at] = outcomes[at].model_copy(
                update={"completed": False, "error_code": "UNKNOWN", "reason": reason[:2000]}
            )
            faults.append(f"{outcomes[at].object_name}: {reason}")
    return result[: max(MAX_ROWS, len(outcomes))], faults


def _matches(
    outcomes: list[DeliveryOutcome], plan: list[PlanRow], facts: TaskFacts, free: set[int]
) -> list[tuple[PlanRow, int | None]]:
    """Return each row with the index of its outcome, None for a row without one; each outcome has one row at most."""
    found: dict[int, int] = {}
    for fits in (_same_place, _same_name, _shared_word):
        for number, row in enumerate(plan):
            if number in found:
                continue
            at = next((at for at in sorted(free) if fits(row, outcomes[at], facts)), None)
            if at is not None:
                found[number] = at
                free.discard(at)
    return [(row, found.get(number)) for number, row in enumerate(plan)]


def _same_name(row: PlanRow, outcome: DeliveryOutcome, facts: TaskFacts) -> bool:
    return facts.names.thing_in(row.object_name) == facts.names.thing_in(outcome.object_name)


def _same_place(row: PlanRow, outcome: DeliveryOutcome, facts: TaskFacts) -> bool:
    return _same_name(row, outcome, facts) and facts.names.place(row.target) == facts.names.place(outcome.target)


def _shared_word(row: PlanRow, outcome: DeliveryOutcome, facts: TaskFacts) -> bool:
    """Return whether the names share a word, for names that the site does not have both."""
    planned, told = facts.names.thing_in(row.object_name), facts.names.thing_in(outcome.object_name)
    both_known = facts.names.known(planned) is not None and facts.names.known(told) is not None
    return not both_known and bool(set(planned.split()) & set(told.split()))


def _elsewhere(row: PlanRow, outcome: DeliveryOutcome, facts: TaskFacts, rows: Counter[str]) -> str:
    """Return where the object was put when that is not the planned place, '' when it is or nobody can tell."""
    record = facts.objects.get(facts.names.thing_in(outcome.object_name))
    of_name = rows[facts.names.thing_in(row.object_name)]
    put_at = record.placed_at if record is not None and record.placed_at else outcome.target
    wanted, got = facts.names.place(row.target), facts.names.place(put_at)
    if record is not None and wanted in map(facts.names.place, record.deliveries(of_name)):
        # Of several that look alike, one was put there; that each has a place of its own is checked with the report.
        return ""
    return put_at if wanted is not None and got is not None and wanted != got else ""
