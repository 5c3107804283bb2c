"""`python -m quartet_benchmarks.overhead.tools`: the MCP server of all clients, whose tools answer at once."""

import asyncio
import os
from pathlib import Path
from typing import Any

from fastmcp import FastMCP

from quartet_process import stop_on_signals, write_ready_file
from quartet_process.serving import HttpServer, listen

READS = {"readOnlyHint": True}
"""What a server says of a tool that only reads, as Quartet's servers do."""
KEPT_S = 60
"""How long a client may keep the list of tools [s]."""
POSE = {"frame_id": "map", "position": [1.251, -0.402, 0.0], "orientation": [0.0, 0.0, 0.3826834, 0.9238795]}


def _ok(**fields: Any) -> dict[str, Any]:
    return {"ok": True, "error_code": "NONE", "message": "", **fields}


def create_server() -> FastMCP:
    """Return the server with the six tools of the approach agent, each with one result."""
    # As Quartet's servers; any client may keep the list of tools.
    server = FastMCP("robot", cache_ttl=KEPT_S)

    @server.tool
    async def navigate_to_pose(x: float, y: float, yaw: float = 0.0, frame_id: str = "map") -> dict[str, Any]:
        """Drive the base to a pose: x and y in metres, yaw in radians, in the frame `frame_id`."""
        return _ok(pose={**POSE, "frame_id": frame_id, "position": [x, y, 0.0]}, distance_m=0.03, seconds=7.4)

    @server.tool(annotations=READS)
    async def get_robot_pose(frame_id: str = "map") -> dict[str, Any]:
        """Return where the base is, in the frame `frame_id`."""
        return _ok(pose={**POSE, "frame_id": frame_id}, age_s=0.02)

    @server.tool
    async def clear_costmaps(which: str = "both") -> dict[str, Any]:
        """Clear the local costmap, the global one, or both, before another try."""
        return _ok(cleared=which)

    @server.tool
    async def plan_and_execute(group: str, target: str, target_type: str = "named") -> dict[str, Any]:
        """Plan a motion of a group of joints to a named state or a pose, and execute it."""
        return _ok(group=group, target=target, target_type=target_type, planning_s=0.12, seconds=2.9)

    @server.tool(annotations=READS)
    async def look(area: str, camera: str = "front") -> dict[str, Any]:
        """Take a picture of an area and return what is seen in it."""
        return _ok(area=area, camera=camera, seen=["wooden table", "red can", "white cup"], lit=True)

    @server.tool(annotations=READS)
    async def detect_objects(prompt: str, camera: str = "front", threshold: float = 0.4) -> dict[str, Any]:
        """Find what `prompt` names in the picture of a camera, with a confidence of at least `threshold`."""
        found = {"label": prompt, "confidence": 0.87, "pose": {**POSE, "frame_id": camera}, "size": [0.07, 0.07, 0.12]}
        return _ok(outputs=[found])

    return server


async def main() -> None:
    """Serve until SIGTERM or SIGINT, and write the file of QUARTET_READY_FILE when the port is open."""
    stop = stop_on_signals()
    app = create_server().http_app(path="/mcp")
    async with HttpServer(app, listen("127.0.0.1", 0)) as server:
        write_ready_file(Path(os.environ["QUARTET_READY_FILE"]), {"url": f"{server.url}/mcp"})
        await server.serve_until(stop)


if __name__ == "__main__":
    asyncio.run(main())
