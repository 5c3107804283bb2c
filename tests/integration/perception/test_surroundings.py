"""What a person sees on the map, over the simulated robot's rosbridge."""

import asyncio

import pytest


@pytest.fixture
def around(eyes):
    """Asks until the answer is as wanted."""

    async def ask(wanted):
        async with asyncio.timeout(60):
            while not wanted(seen := await eyes.call("get_surroundings")):
                pass
        return seen

    return ask


async def test_battery_laser_and_map_of_the_robot(studio, eyes, around):
    studio.reset()
    grid = (await eyes.call("get_map"))["map"]
    seen = await around(lambda seen: seen["laser"] and seen["battery"] is not None)
    assert 0 < seen["battery"] <= 1
    assert seen["path"] == []
    # Where the laser meets something, the map has it, but for a thing that the map does not know.
    cells = {(row, column + n) for row, column, length in grid["occupied"] for n in range(length)}
    (left, low), size = grid["origin"], grid["cell_m"]

    def known(x, y):
        row, column = int((y - low) / size), int((x - left) / size)
        return any((row + dr, column + dc) in cells for dr in (-2, -1, 0, 1, 2) for dc in (-2, -1, 0, 1, 2))

    met = [known(x, y) for x, y in seen["laser"]]
    assert sum(met) > 0.8 * len(met)


async def test_the_way_that_the_robot_drives_ends_at_its_goal(studio, eyes, around):
    studio.reset()
    robot = eyes.server.robot
    pose = {"position": {"x": -0.9, "y": -0.9, "z": 0.0}, "orientation": {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0}}
    goal = {"pose": {"header": {"frame_id": "map"}, "pose": pose}}
    action = robot.file.actions.navigate_to_pose
    await around(lambda seen: True)
    motion = robot.start_motion(action, "nav2_msgs/action/NavigateToPose", goal, limit_s=60)
    seen = await around(lambda seen: seen["path"])
    assert seen["path"][-1] == pytest.approx((-0.9, -0.9), abs=0.06)
    await motion.outcome()
    await around(lambda seen: not seen["path"])
