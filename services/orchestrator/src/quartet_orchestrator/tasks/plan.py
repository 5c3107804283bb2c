"""Plan of a task: a table with one row for each object, which the model states and its report must cover."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from quartet_contracts import DeliveryOutcome, JournalEvent, Skill
from quartet_contracts.journal import Answered, ModelTurn, SkillRequested
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


class StatedPlan:
    """The plan of one task, read from its journal event by event.

    A later table replaces it until the first pick or place, and once after each answer of a person. Then it binds.

    Attributes:
        rows: The plan; empty while the model has stated none.
    """

    def __init__(self, events: Iterable[JournalEvent] = ()) -> None:
        self.rows: list[PlanRow] = []
        self._begun = False
        """The first pick or place was requested."""
        self._answered = False
        """A person has answered since the plan was stated."""
        for event in events:
            self.note(event)

    def note(self, event: JournalEvent) -> None:
        """Read the next event of the task's journal."""
        what = event.event
        if event.request_id is not None:
            return
        if isinstance(what, SkillRequested):
            self._begun = self._begun or what.skill in {Skill.PICK, Skill.PLACE}
        elif isinstance(what, Answered):
            self._answered = True
        elif isinstance(what, ModelTurn) and self._may_change and (rows := read_table(what.text)):
            self.rows, self._answered = rows, False

    @property
    def _may_change(self) -> bool:
        return self._answered or not self._begun or not self.rows


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


def find_mismatch(outcomes: Sequence[DeliveryOutcome], plan: Sequence[PlanRow], facts: TaskFacts) -> str | None:
    """Return how the entries of a report differ from the rows of the plan, with the entries expected; None if they fit.

    An entry fits the row of its object if its target is the row's, or either names no place of the site.
    """
    free = set(range(len(outcomes)))
    rows = _matches(list(outcomes), list(plan), facts, free)
    missing = [row for row, at in rows if at is None]
    moved = [row for row, at in rows if at is not None and _differ(facts, row.target, outcomes[at].target)]
    surplus = [outcomes[at].object_name for at in sorted(free)]
    if not missing and not moved and not surplus:
        return None
    told = "; ".join(f"object_name '{row.object_name}', target '{row.target}'" for row in plan)
    wrong = [*(row.object_name for row in (*missing, *moved)), *surplus]
    return (
        f"its entries are not the rows of your plan ({', '.join(map(repr, wrong))})\nGive one entry for each row, with "
        f"the words of the plan, and say in `reason` and `summary` what was done: {told}"
    )


def _differ(facts: TaskFacts, planned: str, told: str) -> bool:
    wanted, got = facts.names.place(planned), facts.names.place(told)
    return wanted is not None and got is not None and wanted != got


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
    wanted = facts.names.place(row.target)
    if record is not None and wanted in map(facts.names.place, record.deliveries(of_name)):
        # Of several that look alike, one was put there; that each has a place of its own is checked with the report.
        return ""
    return put_at if _differ(facts, row.target, put_at) else ""
