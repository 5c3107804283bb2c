"""`python -m quartet_benchmarks.fleet.instant_servers`: the motion servers of many robots, whose motions take no time.

Grants, fences, policies and stops are those of the real servers. Behind them is no robot: a drive sets a pose.
Environment: QUARTET_ROBOT_NAMES (JSON list), QUARTET_ROBOT_FILE, QUARTET_SITE_FILE, QUARTET_GRANT_PUBLIC_KEY_FILE,
QUARTET_STATE_DIR, QUARTET_READY_FILE.
"""

import asyncio
import io
import json
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from PIL import Image
from starlette.applications import Starlette

from quartet_contracts.tools import Pose2D
from quartet_contracts.tools.moveit import ArmResult, CurrentPoseResult
from quartet_contracts.tools.nav2 import ClearCostmapsResult, MotionResult, RobotPoseResult
from quartet_contracts.tools.perception import DetectResult, LookResult
from quartet_process import stop_on_signals, write_ready_file
from quartet_process.serving import HttpServer, listen
from quartet_process.signatures import read_keys
from quartet_robot_link import Robot
from quartet_robot_link.link import Message, Subscription
from quartet_site import RobotFile, SiteFile, inside, load_robot, load_site
from quartet_tool_server import GrantVerifier, ServerSpec, ToolServer, as_tool_result, make_server
from quartet_tool_server.hosting import host, mounted
from quartet_tool_server.metrics import Families
from quartet_tool_server.settings import ServerSettings


class NullLink:
    """Transport without a robot: it delivers nothing."""

    connected = True
    reconnects = 0

    async def wait_connected(self, timeout_s: float) -> bool:
        """Return True."""
        return True

    async def probe(self, timeout_s: float = 2.0) -> bool:
        """Return True."""
        return True

    def subscribe(self, topic: str, msg_type: str, **_: Any) -> Subscription:
        """Return a subscription that never delivers."""
        return _Silent(topic)

    def latest(self, topic: str) -> Message | None:
        """Return None."""
        return None

    async def cancel_goals(self, action: str, *, timeout_s: float | None = None) -> int:
        """Return 0."""
        return 0

    async def publish(self, topic: str, msg_type: str, msg: Message) -> None:
        """Do nothing."""
        return

    async def advertise(self, topic: str, msg_type: str) -> None:
        """Do nothing."""
        return

    async def close(self) -> None:
        """Do nothing."""
        return

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"there is no robot behind this benchmark, so nothing can be asked by '{name}'")


class _Silent:
    latest = None

    def __init__(self, topic: str) -> None:
        self.topic = topic

    async def next(self, timeout_s: float) -> Message:
        await asyncio.sleep(timeout_s)
        raise TimeoutError

    def __aiter__(self) -> AsyncIterator[Message]:
        raise NotImplementedError

    def close(self) -> None:
        return None

    async def __aenter__(self) -> "_Silent":
        return self

    async def __aexit__(self, *_: object) -> None:
        return None


class Body:
    """State of one simulated robot: pose and joints."""

    def __init__(self, file: RobotFile, site: SiteFile) -> None:
        entry = site.areas[0].entry
        self.pose = Pose2D(x=entry.x, y=entry.y, yaw=entry.yaw)
        self.joints = dict(zip(file.arm.joints, file.arm.named_states[file.arm.transit_state], strict=True))
        self.site = site

    @property
    def area(self) -> str | None:
        """Area that the pose is in."""
        at = (self.pose.x, self.pose.y)
        return next((area.name for area in self.site.areas if inside(area.outline, *at)), None)


def nav2(server: ToolServer, body: Body) -> None:
    """Add the tools of nav2."""

    @server.tool
    async def navigate_to_pose(x: float, y: float, yaw: float = 0.0) -> MotionResult:
        """Set the pose."""
        async with server.leases.acquire("base", "navigate_to_pose") as lease:
            lease.check()
            body.pose = Pose2D(x=x, y=y, yaw=yaw)
        return MotionResult(pose=body.pose)

    @server.tool(read_only=True)
    async def get_robot_pose() -> RobotPoseResult:
        """Return the pose."""
        return RobotPoseResult(pose=body.pose, area=body.area)

    @server.tool(destructive=False)
    async def clear_costmaps(costmap_type: str = "all") -> ClearCostmapsResult:
        """Do nothing."""
        return ClearCostmapsResult()


def moveit(server: ToolServer, body: Body) -> None:
    """Add the tools of moveit."""

    @server.tool
    async def plan_and_execute(group: str, target_type: str, target: dict[str, Any]) -> ArmResult:
        """Do nothing."""
        async with server.leases.acquire("arm", "plan_and_execute") as lease:
            lease.check()
        return ArmResult(planned=True, executed=True)

    @server.tool(read_only=True)
    async def get_current_pose() -> CurrentPoseResult:
        """Return the joints of the transit state."""
        return CurrentPoseResult(joint_positions=body.joints)


def perception(server: ToolServer, body: Body) -> None:
    """Add the tools of perception."""
    picture = io.BytesIO()
    Image.new("RGB", (64, 48), (90, 90, 90)).save(picture, "jpeg")

    @server.tool(result=LookResult, read_only=True)
    async def look(camera: str = "both") -> Any:
        """Return a grey picture."""
        cameras = ["front", "arm"] if camera == "both" else [camera]
        result = LookResult(cameras=cameras, area=body.area)  # pyright: ignore[reportArgumentType]
        return as_tool_result(result, [(picture.getvalue(), "image/jpeg")] * len(cameras))

    @server.tool(read_only=True)
    async def detect_objects(names: list[str], camera: str = "front") -> DetectResult:
        """Detect nothing."""
        return DetectResult()


SERVERS = {"nav2": nav2, "moveit": moveit, "perception": perception}


def make_app(
    names: list[str], file: RobotFile, site: SiteFile, keys: Sequence[Ed25519PublicKey], state: Path
) -> Starlette:
    """Return the application with /<server>/<robot>/mcp for every robot of `names`."""
    apps: dict[str, Starlette] = {}
    bodies = {name: Body(file, site) for name in names}
    for server, tools in SERVERS.items():
        families, made = Families(), dict[str, ToolServer]()
        for name in names:
            own = file.model_copy(update={"name": name})
            robot = Robot(own, NullLink())  # pyright: ignore[reportArgumentType]
            spec = ServerSpec(server, lambda one, tools=tools, name=name: tools(one, bodies[name]))
            made[name] = make_server(spec, robot, site, state, GrantVerifier(name, keys), families=families)
        apps[server] = host(made)

    return mounted(apps)


async def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    names = json.loads(os.environ["QUARTET_ROBOT_NAMES"])
    settings = ServerSettings()
    (files,) = settings.files().values()
    file, site = load_robot(files.robot_file), load_site(files.site_file)
    app = make_app(names, file, site, read_keys(settings), settings.state_dir)
    async with HttpServer(app, listen("127.0.0.1", 0)) as http:
        write_ready_file(settings.ready_file, {"url": http.url})
        await http.serve_until(stop_on_signals())


if __name__ == "__main__":
    asyncio.run(main())
