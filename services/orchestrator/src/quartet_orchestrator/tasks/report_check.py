"""Check of the model's final report against the facts of the task."""

from collections import Counter
from collections.abc import Sequence

from quartet_contracts import DeliveryOutcome, TaskReport
from quartet_orchestrator.tasks.facts import GripperContent, ObjectRecord, TaskFacts
from quartet_orchestrator.tasks.names import SiteNames
from quartet_orchestrator.tasks.plan import PlanRow, compare_with_plan
from quartet_orchestrator.tasks.verbs import asks_to_handle, asks_to_put, may_ask_to_handle, read_drives


def verify_report(claim: TaskReport, facts: TaskFacts, sentence: str, plan: Sequence[PlanRow] = ()) -> TaskReport:
    """Return the report for the record.

    `success` stays true only if the facts confirm every object named, and the objects are those of the `plan` that the
    model stated, each at its planned place, or the robot was driven where the sentence says. What the plan names and
    the report does not is added to it.
    """
    everything = {name: list(record.delivered.values()) for name, record in facts.objects.items()}
    rows = Counter(record.name for one in claim.objects if (record := _find(one, facts, everything)) is not None)
    free = {name: record.deliveries(rows[name]) for name, record in facts.objects.items()}
    outcomes = [_verify(outcome, facts, free, sentence) for outcome in claim.objects]
    faults = [f"{o.object_name}: {o.reason}" for o, was in zip(outcomes, claim.objects, strict=True) if o != was]
    outcomes, unplanned = compare_with_plan(outcomes, list(plan), facts)
    faults += unplanned
    if claim.success and not claim.objects:
        faults += _without_objects(facts, sentence)
    if claim.success:
        faults += [
            f"{record.name} was picked up and not put down"
            for record in facts.objects.values()
            if record.picks and record.place_succeeded is None and not _is_held_on_purpose(record, facts, sentence)
        ]
        # Also if the plan and the report leave it out.
        named = facts.names.objects_in(sentence)
        faults += [
            f"{record.name}: {record.last_reason or record.last_code}"
            for record in facts.objects.values()
            if record.name in named and record.failed and not record.place_succeeded
        ]
    if not faults:
        return claim
    if not claim.success:
        return claim.model_copy(update={"objects": outcomes})
    text = f"{claim.summary} But the record of the task does not confirm this: {'; '.join(faults)}."
    return claim.model_copy(update={"success": False, "summary": text[:4000], "objects": outcomes})


def forgotten_objects(claim: TaskReport, names: SiteNames, sentence: str) -> str | None:
    """Return what a claim of success says nothing of although the sentence names it, None when it is complete.

    An object with which nothing is to be done, such as one that another is put beside, may be named in the summary.
    """
    if not claim.success:
        return None
    told = set(names.objects_in(claim.summary)).union(*(names.objects_in(o.object_name) for o in claim.objects))
    missing = [name for name in names.objects_in(sentence) if name not in told]
    if not missing:
        return None
    return (
        f"the sentence names {', '.join(missing)}, and the report does not\nAdd an entry, or say in the summary why "
        "nothing was to be done with it"
    )


def find_missed_drives(facts: TaskFacts, sentence: str) -> str | None:
    """Return where a sentence that asks only for drives wanted the robot and it was not driven, None if nowhere."""
    asked = read_drives(sentence)
    if asked is None:
        return None
    named = facts.names.destinations_in(asked.text) or facts.names.destinations_in(sentence)
    wanted, at = [one for one in named if not asked.looks or facts.names.area(one) is not None], 0
    for name in wanted:
        reached = (n for n, (area, thing) in enumerate(facts.drives) if name in _names_of(area, thing, facts))
        found = next((n for n in reached if n >= at or not asked.in_order), None)
        if found is None:
            driven = ", then ".join(area for area, _ in facts.drives) or "nowhere"
            return f"the sentence wants the robot at {', then '.join(wanted)}, and it was driven to: {driven}"
        at = found
    return None


def _names_of(area: str, thing: str, facts: TaskFacts) -> set[str | None]:
    return {facts.names.area(area), facts.names.place(thing)}


def _verify(outcome: DeliveryOutcome, facts: TaskFacts, free: dict[str, list[str]], sentence: str) -> DeliveryOutcome:
    """Return the outcome, not completed unless one of the deliveries that are `free`, by object, is it; it is taken."""
    record = _find(outcome, facts, free)
    if not outcome.completed:
        if outcome.error_code != "UNKNOWN" or record is None or not record.failed:
            return outcome
        return outcome.model_copy(update={"error_code": record.last_code[:64]})
    left = free.get(record.name, []) if record is not None else []
    if record is not None and (left or record.place_succeeded):
        if not left:
            return _not_done(outcome, "UNKNOWN", _too_few(record))
        wanted = facts.names.place(outcome.target)
        fitting = [at for at in left if wanted is None or facts.names.place(at) in {None, wanted}]
        if fitting:
            left.remove(fitting[0])
            return outcome
        return _not_done(outcome, "UNKNOWN", f"it was placed at '{left[-1]}', not at '{outcome.target}'")
    if record is not None and _is_held_on_purpose(record, facts, sentence) and not facts.names.place(outcome.target):
        return outcome
    if record is None:
        return _not_done(outcome, "UNKNOWN", "nothing in the record of the task says that it was placed")
    code = record.last_code if record.failed else "UNKNOWN"
    return _not_done(outcome, code, record.last_reason or "its last place did not succeed")


def _too_few(record: ObjectRecord) -> str:
    count = "one" if len(record.delivered) == 1 else str(len(record.delivered))
    return f"only {count} of this name was seen to be put down, and the report has more"


def _find(outcome: DeliveryOutcome, facts: TaskFacts, free: dict[str, list[str]]) -> ObjectRecord | None:
    """Return the record of an outcome: by name, else the only placed object that no other outcome has."""
    name = facts.names.thing_in(outcome.object_name)
    named = facts.objects.get(name) or facts.objects.get(facts.names.thing(outcome.object_name))
    if named is not None:
        return named
    # Where the site knows both names, they are two objects.
    is_known = facts.names.known(name) is not None
    possible = [r for r in facts.objects.values() if not (is_known and facts.names.known(r.name))]
    words = set(outcome.object_name.lower().split())
    alike = [r for r in possible if words & set(r.name.lower().split())]
    if len(alike) == 1:
        return alike[0]
    target = facts.names.place(outcome.target)
    fitting = [r for r in possible if any(target in {None, facts.names.place(at)} for at in free.get(r.name, []))]
    return fitting[0] if len(fitting) == 1 else None


def _is_held_on_purpose(record: ObjectRecord, facts: TaskFacts, sentence: str) -> bool:
    """Return whether the sentence asks only to pick the object up, and the gripper holds it."""
    return facts.gripper is GripperContent.OBJECT and facts.held == record.name and not asks_to_put(sentence)


def _without_objects(facts: TaskFacts, sentence: str) -> list[str]:
    worked = [r for r in facts.objects.values() if r.picks or r.failed_picks or r.place_succeeded is not None]
    if worked:
        return [
            f"{record.name}: {record.last_reason or 'its last place did not succeed'}"
            for record in worked
            if not record.place_succeeded
        ]
    if asks_to_handle(sentence) or (facts.names.objects_in(sentence) and may_ask_to_handle(sentence)):
        return ["no object was picked up or put down"]
    if missed := find_missed_drives(facts, sentence):
        return [missed]
    if facts.reached or facts.looked:
        return []
    return ["nothing was done"]


def _not_done(outcome: DeliveryOutcome, code: str, reason: str) -> DeliveryOutcome:
    return outcome.model_copy(update={"completed": False, "error_code": code[:64], "reason": reason[:2000]})


def report_without_model(facts: TaskFacts, reason: str) -> TaskReport:
    """Return the report of a task that ended before the model reported: what was done, what was not, why."""
    outcomes = [
        DeliveryOutcome(
            object_name=record.name[:200],
            target=record.placed_at[:200],
            completed=bool(record.place_succeeded),
            error_code="NONE" if record.place_succeeded else (record.last_code if record.failed else "UNKNOWN"),
            reason="" if record.place_succeeded else (record.last_reason or reason)[:2000],
        )
        for record in list(facts.objects.values())[:50]
    ]
    done = [o.object_name for o in outcomes if o.completed]
    done_before = f"Done before: {', '.join(done)}." if done else ""
    aside = facts.describe_put_aside(outcomes)
    parts = [reason, done_before, aside, facts.describe_release(), facts.describe_held()]
    return TaskReport(success=False, summary=" ".join(p for p in parts if p)[:4000], objects=outcomes)
