"""Which level of sensors everything simulates that names none."""

import inspect
import re
from pathlib import Path

import yaml

from quartet_benchmarks.result import BenchParameters
from quartet_cli.commands import bench, up
from quartet_deployment import DEFAULT_SENSORS, StackOptions
from quartet_simulation.settings import Settings
from quartet_simulation.simulation import Simulation
from quartet_simulation.tabletop.simulation import TableSimulation

ROOT = Path(__file__).resolve().parents[3]


def test_it_is_the_same_wherever_a_simulation_is_started():
    compose = re.search(r"QUARTET_SIMULATION_SENSORS: \$\{QUARTET_SENSORS:-(\w+)\}", _text("docker-compose.yml"))
    commands = (up.up, up.demo, bench.bench, Simulation.__init__, TableSimulation.__init__)
    given = [inspect.signature(one).parameters["sensors"].default for one in commands]
    given += [Settings().sensors, StackOptions(Path()).sensors, BenchParameters().sensors, compose[1]]
    given.append(yaml.safe_load(_text("deploy/kubernetes/quartet/values.yaml"))["simulation"]["sensors"])
    assert set(given) == {DEFAULT_SENSORS} == {"typical"}


def _text(path: str) -> str:
    return (ROOT / path).read_text()
