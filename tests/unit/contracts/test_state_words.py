"""People read the same words for states on the command line and on the page."""

import re
from pathlib import Path

import pytest

from quartet_contracts import STATE_WORDS, State, TaskCode, TaskReport
from quartet_orchestrator.recovery.record import code_of_task

PAGE = Path(__file__).resolve().parents[3] / "services/orchestrator/src/quartet_orchestrator/page/static/tasks.js"


def test_the_page_has_the_words_of_the_command_line() -> None:
    listed = PAGE.read_text().partition("STATES = {")[2].partition("}")[0]
    assert dict(re.findall(r'(\w+): "([^"]+)"', listed)) == {state.value: words for state, words in STATE_WORDS.items()}
    assert set(STATE_WORDS) == set(State)


@pytest.mark.parametrize(
    ("state", "reported", "code"),
    [
        (State.SUCCEEDED, TaskCode.AMBIGUOUS, TaskCode.NONE),
        (State.CANCELED, TaskCode.NONE, TaskCode.CANCELED),
        (State.FAILED, TaskCode.NONE, TaskCode.UNKNOWN),
        (State.FAILED, TaskCode.CANCELED, TaskCode.UNKNOWN),
        (State.FAILED, TaskCode.STOPPED, TaskCode.STOPPED),
        (State.FAILED, TaskCode.AMBIGUOUS, TaskCode.AMBIGUOUS),
        (State.FAILED, TaskCode.NOT_UNDERSTOOD, TaskCode.NOT_UNDERSTOOD),
    ],
)
def test_the_code_of_a_task_follows_from_its_state_and_its_report(
    state: State, reported: TaskCode, code: TaskCode
) -> None:
    assert code_of_task(state, TaskReport(success=False, summary="x", error_code=reported)) == code
