"""Compares the model's final claim with what happened; the code's word stands."""

import re

from quartet_contracts import DeliveryOutcome, TaskReport
from quartet_orchestrator.ledger import Hold, Ledger, ObjectRecord

PUT_WORDS = re.compile(r"\b(put|place|bring|drop|deliver|carry|move|throw|leave|return|onto|into)\b", re.IGNORECASE)
HANDLING_WORDS = re.compile(r"\b(put|bring|deliver|carry|throw|pick|grab|grasp|fetch)\b", re.IGNORECASE)
"""Words that ask for a thing in the gripper, whatever else they may ask for."""


def settle_report(claim: TaskReport, ledger: Ledger, sentence: str) -> TaskReport:
    """The report as it goes on record. `success` stays true only if the ledger bears out every object named."""
    free = {name: record for name, record in ledger.objects.items() if record.place_succeeded}
    outcomes = [_settle(outcome, ledger, free, sentence) for outcome in claim.objects]
    faults = [f"{o.object_name}: {o.reason}" for o, was in zip(outcomes, claim.objects, strict=True) if o != was]
    if claim.success and not claim.objects:
        faults += _without_objects(ledger, sentence)
    if claim.success:
        faults += [
            f"{record.name} was picked up and not put down"
            for record in ledger.objects.values()
            if record.picks and record.place_succeeded is None and not _is_held_on_purpose(record, ledger, sentence)
        ]
    if not faults:
        return claim
    if not claim.success:
        return claim.model_copy(update={"objects": outcomes})
    text = f"{claim.summary} But the record of the task does not bear this out: {'; '.join(faults)}."
    return claim.model_copy(update={"success": False, "summary": text[:4000], "objects": outcomes})


def _settle(outcome: DeliveryOutcome, ledger: Ledger, free: dict[str, ObjectRecord], sentence: str) -> DeliveryOutcome:
    if not outcome.completed:
        return outcome
    record = _find(outcome, ledger, free)
    if record is not None and record.place_succeeded:
        free.pop(record.name, None)
        wanted, got = ledger.names.place(outcome.target), ledger.names.place(record.placed_at)
        if wanted is None or got is None or wanted == got:
            return outcome
        return _not_done(outcome, "UNKNOWN", f"it was placed at '{record.placed_at}', not at '{outcome.target}'")
    if record is not None and _is_held_on_purpose(record, ledger, sentence) and not ledger.names.place(outcome.target):
        return outcome
    if record is None:
        return _not_done(outcome, "UNKNOWN", "nothing in the record of the task says that it was placed")
    code = record.last_code if record.failed else "UNKNOWN"
    return _not_done(outcome, code, record.last_reason or "its last place did not succeed")


def _find(outcome: DeliveryOutcome, ledger: Ledger, free: dict[str, ObjectRecord]) -> ObjectRecord | None:
    """The record an outcome speaks of: by name, else the only placed object that nothing else speaks of."""
    named = ledger.objects.get(ledger.names.thing_in(outcome.object_name)) or ledger.objects.get(
        ledger.names.thing(outcome.object_name)
    )
    if named is not None:
        return named
    words = set(outcome.object_name.lower().split())
    alike = [r for r in ledger.objects.values() if words & set(r.name.lower().split())]
    if len(alike) == 1:
        return alike[0]
    target = ledger.names.place(outcome.target)
    fitting = [r for r in free.values() if target in {None, ledger.names.place(r.placed_at)}]
    return fitting[0] if len(fitting) == 1 else None


def _is_held_on_purpose(record: ObjectRecord, ledger: Ledger, sentence: str) -> bool:
    """A sentence that asks only to pick something up ends with it in the gripper."""
    return ledger.hold is Hold.OBJECT and ledger.held == record.name and not PUT_WORDS.search(sentence)


def _without_objects(ledger: Ledger, sentence: str) -> list[str]:
    worked = [r for r in ledger.objects.values() if r.picks or r.failed_picks or r.place_succeeded is not None]
    if worked:
        return [
            f"{record.name}: {record.last_reason or 'its last place did not succeed'}"
            for record in worked
            if not record.place_succeeded
        ]
    if HANDLING_WORDS.search(sentence):
        return ["no object was picked up or put down"]
    if ledger.reached or ledger.looked:
        return []
    return ["nothing was done"]


def _not_done(outcome: DeliveryOutcome, code: str, reason: str) -> DeliveryOutcome:
    return outcome.model_copy(update={"completed": False, "error_code": code[:64], "reason": reason[:2000]})


def broken_off(ledger: Ledger, reason: str) -> TaskReport:
    """The report of a task that ended without the model's: what was done, what was not, why."""
    outcomes = [
        DeliveryOutcome(
            object_name=record.name[:200],
            target=record.placed_at[:200],
            completed=bool(record.place_succeeded),
            error_code="NONE" if record.place_succeeded else (record.last_code if record.failed else "UNKNOWN"),
            reason="" if record.place_succeeded else (record.last_reason or reason)[:2000],
        )
        for record in list(ledger.objects.values())[:50]
    ]
    done = [o.object_name for o in outcomes if o.completed]
    parts = [reason, f"Done before: {', '.join(done)}." if done else "", ledger.holding_words()]
    return TaskReport(success=False, summary=" ".join(p for p in parts if p)[:4000], objects=outcomes)
