import pytest

from quartet_cli.commands import run
from quartet_cli.main import app


@pytest.mark.parametrize(("given", "robot"), [(["stop!"], None), (["Halt sofort", "--robot", "summit"], "summit")])
def test_an_order_to_stop_goes_to_the_stop_service(monkeypatch, given, robot):
    pressed = []
    monkeypatch.setattr(run, "stop_robots", lambda *order: pressed.append(order))
    monkeypatch.setattr(run, "start_and_follow", lambda *_, **__: pytest.fail("a task was queued"))
    app(["run", *given], standalone_mode=False)
    assert [name for name, _ in pressed] == [robot]
