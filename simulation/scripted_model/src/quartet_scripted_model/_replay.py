"""Where a policy stands: it is run again over the calls that the messages show, so that nothing is remembered."""

from quartet_scripted_model._conversation import Step
from quartet_scripted_model._turn import Call, Policy, Text, Turn

_DONE = Text("I have reported my result and have nothing to add.")


def next_turn(policy: Policy, steps: list[Step]) -> Turn:
    """The first turn of `policy` that `steps` do not hold yet.

    Calls in between that the policy never made (a misbehaviour, or another model's turn) are passed over.
    """
    at = 0
    try:
        turn = next(policy)
        while True:
            if not isinstance(turn, Call):
                return turn
            found = _find(turn, steps, at)
            if found is None:
                return turn
            at = found + 1
            result = steps[found].result
            if result is None:
                return turn
            turn = policy.send(result)
    except StopIteration:
        return _DONE
    finally:
        policy.close()


def _find(call: Call, steps: list[Step], start: int) -> int | None:
    for i in range(start, len(steps)):
        if steps[i].name == call.name and steps[i].arguments == call.arguments:
            return i
    return None
