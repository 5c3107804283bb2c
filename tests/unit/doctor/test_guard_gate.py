"""Who may listen where velocities are sent: the guard, which holds them back during a stop."""

import pytest

from quartet_cli.doctor.guard import gate_fault

GUARD = "/robot_guard"


@pytest.mark.parametrize(
    ("listening", "told"),
    [
        (["/diff_drive_controller"], "/diff_drive_controller takes velocities from /cmd_vel"),
        ([GUARD, "/driver", "/logger"], "/driver, /logger takes velocities from /cmd_vel"),
        ([], "nobody listens for velocities on /cmd_vel"),
    ],
)
def test_a_base_beside_the_guard(listening: list[str], told: str) -> None:
    fault = gate_fault("/cmd_vel", listening, [GUARD])
    assert fault is not None
    assert fault[0].startswith(told)
    assert fault[1]


def test_the_guard_alone() -> None:
    assert gate_fault("/cmd_vel", [GUARD], [GUARD]) is None
