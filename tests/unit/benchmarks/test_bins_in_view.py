"""A dark bin is seen from where a robot stands before it, in a drawn home and with the sensors of the tiers."""

from pathlib import Path

import pytest

from quartet_benchmarks.home.homes import furnished
from quartet_benchmarks.stage import Stage
from quartet_perception import Catalogue, ColourShapeSegmenter
from quartet_simulation.simulation import Simulation
from quartet_site import load_robot, load_site


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A drawn home, whose proof that it can be solved takes most of the time."""
    return furnished("generated:782959987", tmp_path_factory.mktemp("home") / "world", 9908, 4)


@pytest.mark.slow
@pytest.mark.parametrize("light", ["dim", "warm"])
def test_bins_are_seen_from_before_them(folder: Path, light: str) -> None:
    site, robot = load_site(folder / "site.yaml"), load_robot(folder / "robot.yaml")
    segmenter = ColourShapeSegmenter(Catalogue.of_site(site))
    sim = Simulation(str(folder), 5, sensors="typical")
    try:
        sim.reset(str(folder), 5, f"packed,{light}")
        stage = Stage(sim, site, robot, 5, "floor", light)
        for container in site.containers:
            assert container.approach is not None
            sim.put_robot(container.approach.x, container.approach.y, container.approach.yaw)
            sim.step(0.2)
            seen = segmenter.segment(stage.view(), [container.name])
            assert max((one.score for one in seen), default=0.0) > 0.9, container.name
    finally:
        sim.close()
