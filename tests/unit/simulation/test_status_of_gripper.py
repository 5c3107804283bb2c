"""When the simulated gripper's driver looks at the fingers."""

from types import SimpleNamespace

import pytest

from quartet_simulation.ros.publishers import STATUS_PERIOD_S, Publishers


class Sim(SimpleNamespace):
    """Fingers that move as long as `moving` says; `looks` counts how often they were looked at."""

    time, gripper_target, moving, looks = 0.0, 0.0, 0.0, 0

    def gripper_state(self):
        self.looks += 1
        return {"moving": self.moving, "width": 0.1, "effort": 0.0, "wanted": 0.1}

    def static_transforms(self):
        return []


@pytest.fixture
def driver():
    """Publishers that nobody listens to, and what they have published."""
    world = SimpleNamespace(revision=0)
    told: list[tuple[str, dict]] = []
    graph = SimpleNamespace(
        demand=set(),
        on_subscribe=[],
        advertise=lambda *_, **__: None,
        publish=lambda topic, message, node: told.append((topic, message)),
    )
    publishers = Publishers(world, graph, lambda send: send(), SimpleNamespace(driver="/gripper"), drives=False)
    return SimpleNamespace(
        world=world,
        tick=publishers.tick,
        flush=publishers.flush,
        told=lambda: [message["data"] for topic, message in told if topic == "/gripper/status"],
    )


BEFORE_THE_NEXT_S = STATUS_PERIOD_S / 2
"""World time from the start at which the first look was and the next one is not due yet."""


def moved(driver, sim, seconds):
    """Let the world move for a time, in steps of 20 ms."""
    for _ in range(round(seconds / 0.02)):
        sim.time += 0.02
        driver.tick(sim, True)


def test_it_looks_once_a_period_while_the_world_moves(driver):
    sim = Sim()
    driver.tick(sim, False)
    before = sim.looks
    moved(driver, sim, 10 * STATUS_PERIOD_S)
    assert 9 <= sim.looks - before <= 10


def test_it_looks_at_once_when_the_fingers_are_told_to_move(driver):
    sim = Sim()
    moved(driver, sim, BEFORE_THE_NEXT_S)
    sim.gripper_target, sim.moving = 0.7, 1.0
    moved(driver, sim, 0.02)
    assert driver.told() == ["open", "moving"]


def test_it_looks_at_once_when_the_world_was_changed(driver):
    sim = Sim()
    moved(driver, sim, BEFORE_THE_NEXT_S)
    driver.world.revision, sim.moving = 1, 1.0
    moved(driver, sim, 0.02)
    assert driver.told() == ["open", "moving"]


@pytest.mark.parametrize("ends", ["result", "rest", "new episode"])
def test_the_last_status_is_that_of_the_end(driver, ends):
    sim = Sim(moving=1.0)
    moved(driver, sim, BEFORE_THE_NEXT_S)
    sim.moving = 0.0
    sim.time = 0.0 if ends == "new episode" else sim.time + 0.02
    if ends == "result":
        driver.flush(sim)
    else:
        driver.tick(sim, ends == "new episode")
    assert driver.told() == ["moving", "open"]
