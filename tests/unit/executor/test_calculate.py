"""Programs that only calculate: what they print, and what hostile ones come to."""

import pytest

from quartet_contracts import MAX_CALCULATED, ProgramRequest
from quartet_executor import calculate as module
from quartet_executor.calculate import SILENT, calculate
from quartet_sandbox import SandboxUnavailableError

REQUEST = ProgramRequest(
    request_id="r1", task_id="t1", robot="ada", created_at=0.0, deadline=9.0, reply_to="s", code="print(2**0.5 < 1.5)"
)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (REQUEST.code, "True\n"),
        ("x = 1", SILENT),
        ("print('é' * 10_000_000)", "The program was ended: it printed more than"),
        ("open('/etc/passwd')", "PermissionError"),
        ("open_gripper()", "NameError: name 'open_gripper' is not defined"),
        ("print(", "SyntaxError"),
        ("x = bytearray(10**9)", "MemoryError"),
    ],
)
async def test_a_program_is_answered_by_its_output(code: str, told: str) -> None:
    answer = await calculate(REQUEST.model_copy(update={"code": code}), 30.0)
    assert answer.error_code == "NONE"
    assert told in answer.text
    assert len(answer.text) <= MAX_CALCULATED


async def test_a_program_that_never_ends_is_ended_in_the_time_that_is_left() -> None:
    answer = await calculate(REQUEST.model_copy(update={"code": "while True: pass"}), 0.2)
    assert answer.text == "The program was ended: it computed for more than 0.2 s without a call."


async def test_without_confinement_no_program_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    async def unavailable(*_: object) -> None:
        raise SandboxUnavailableError("no Landlock")

    monkeypatch.setattr(module, "run_program", unavailable)
    answer = await calculate(REQUEST, 30.0)
    assert (answer.error_code, answer.text) == ("NO_CONFINEMENT", "no Landlock")
