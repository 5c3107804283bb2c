"""Stop means stop: the robot in real time, with processes that hang, die and come back. `quartet bench stops` has the
figures; here only what happens counts, since other programs share the machine."""

import io
import random
import signal
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from rich.console import Console

from quartet_benchmarks.chaos.stops import KINDS, LAPSED, NOT_NEEDED, Trial, open_trial
from quartet_cli.commands.up import warn_of_stops
from quartet_cli.main import main
from quartet_deployment import Stack, StackOptions

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

HUNG = ("redis", "orchestrator", "gateway", "scripted_model", "nav2")


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Everything but the agents, in real time."""
    options = StackOptions(
        state_dir=tmp_path_factory.mktemp("stops") / "stack",
        world="studio",
        realtime=True,
        use_dotenv=False,
        without=NOT_NEEDED,
        start_timeout_s=180.0,
    )
    with Stack(options) as stack:
        yield stack


@pytest.fixture
async def trial(stack: Stack) -> AsyncIterator[Trial]:
    async with open_trial(stack, random.Random(time.time_ns())) as trial:
        yield trial
        await trial.reset()


@pytest.fixture
def quartet(stack: Stack, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """`quartet("stop")`: exit status and what the command printed."""
    monkeypatch.setenv("QUARTET_STOP_URL", stack.url_of("stop"))
    monkeypatch.setenv("QUARTET_STOP_TOKEN", stack.stop_token)

    def run(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as end:
            main(list(arguments))
        captured = capsys.readouterr()
        return int(end.value.code or 0), captured.out + captured.err

    return run


def twist(stack: Stack) -> float:
    """Speed of the base by ground truth [m/s and rad/s]."""
    truth = httpx.get(f"{stack.scoring_url}/truth", timeout=60).json()
    return max(map(abs, truth["robot"]["twist"]))


def until_metric(stack: Stack, line: str) -> None:
    """Wait until nav2 tells it: the server that was started anew may still hear of the stop from the guard."""
    end = time.monotonic() + 60
    mine = {"Authorization": f"Bearer {stack.metrics_token}"}
    while line not in (metrics := httpx.get(f"{stack.url_of('nav2')}/metrics", headers=mine, timeout=60).text):
        assert time.monotonic() < end, metrics
        time.sleep(0.05)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_stop_passes_everything_that_hangs(stack: Stack, trial: Trial, kind: str) -> None:
    row = await trial.stop(HUNG, kind)
    while row["code"] == LAPSED:
        # The machine was too slow for heartbeats, so that the motion was over before.
        row = await trial.stop(HUNG, kind)
    assert row["standstill"] is True, "confirmed and measured by the guard"
    assert row["code"] == "STOPPED"


async def test_a_stop_ends_a_program_of_a_team_and_its_motion(stack: Stack, trial: Trial) -> None:
    row = await trial.stop_program()
    while row["code"] == LAPSED:
        row = await trial.stop_program()
    assert row["standstill"] is True, "confirmed and measured by the guard"
    assert row["code"] == "STOPPED", "the executor answers that the program was stopped"


def test_a_stop_holds_across_restarts_until_a_person_resets_it(stack: Stack, quartet) -> None:
    status, text = quartet("stop", "summit", "--reason", "the cat is on the table")
    assert status == 0, text
    assert "stands still" in text
    assert "quartet reset summit" in text
    for name in ("stop", "nav2"):
        stack.kill(name)
        stack.restart(name)
    state = httpx.get(
        f"{stack.url_of('stop')}/state", headers={"Authorization": f"Bearer {stack.stop_token}"}, timeout=60
    ).json()["robots"]["summit"]
    assert (state["latched"], state["stopped"], state["reason"]) == (True, True, "the cat is on the table")
    until_metric(stack, 'quartet_server_stopped{robot="summit",server="nav2"} 1.0')
    told = io.StringIO()
    warn_of_stops(stack, Console(file=told, width=200))
    assert "summit is stopped (the cat is on the table); nothing moves until: quartet reset" in told.getvalue()
    status, text = quartet("reset")
    assert status == 0, text
    assert "summit: may move again" in text
    warn_of_stops(stack, Console(file=told, width=200))
    assert told.getvalue().count("\n") == 1, "nothing more to tell"
    until_metric(stack, 'quartet_server_stopped{robot="summit",server="nav2"} 0.0')


def test_the_command_says_what_is_wrong(stack: Stack, quartet, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    status, text = quartet("stop", "tiago")
    assert (status, "valid: summit" in text) == (2, True)
    monkeypatch.setenv("QUARTET_STOP_TOKEN", "not-the-token-of-this-service")
    status, text = quartet("stop")
    assert (status, "Bearer" in text) == (2, True)
    monkeypatch.setenv("QUARTET_STOP_URL", "http://127.0.0.1:9")
    status, text = quartet("stop")
    assert status == 3
    assert "emergency stop" in text
    monkeypatch.delenv("QUARTET_STOP_TOKEN")
    monkeypatch.setenv("QUARTET_STOP_TOKEN_FILE", str(tmp_path / "none"))
    status, text = quartet("reset")
    assert (status, "none" in text) == (2, True)


@pytest.mark.parametrize(
    ("gone", "number", "by_guard"),
    [
        ("caller", signal.SIGSTOP, False),
        ("both", signal.SIGSTOP, True),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
async def test_a_motion_that_nobody_answers_for_is_ended_and_its_caller_refused(
    stack: Stack, trial: Trial, gone: str, number: signal.Signals, by_guard: bool
) -> None:
    row = None
    while row is None or row["missed"]:
        row = await trial.orphan(gone, number)
    assert row["stop_ms"] is not None, row
    assert row["stale_accepted"] is False
    assert by_guard <= (row["by"] == "guard"), "nobody else was there to end it"
    state = (await trial.service.get("/state")).json()["robots"]["summit"]
    assert state["guard"]["latched"] is False
    end = time.monotonic() + 30
    while twist(stack) > 0.02:
        assert time.monotonic() < end, "the base does not come to rest"
