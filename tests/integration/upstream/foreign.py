"""A third-party server for the base with names, units and habits of its own: `python foreign.py [--ready-file F]`.

Centimetres, a heading as a quaternion, answers in words. What is wrong with it is asked for by the goal's x.
"""

import argparse
import asyncio
import json
import math
import os
from pathlib import Path
from typing import Any

import uvicorn
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.auth.providers.jwt import StaticTokenVerifier
from mcp_types import ImageContent

mcp: FastMCP = FastMCP(name="foreign")
halts: list[str] = []
goals: list[dict[str, Any]] = []
halted = asyncio.Event()


@mcp.tool
async def go(x_cm: float, y_cm: float, heading: dict[str, float], profile: str, ctx: Context) -> str:
    goals.append({"x_cm": x_cm, "y_cm": y_cm, "profile": profile})
    halted.clear()
    match round(x_cm):
        case 130:
            return "ERR 17: path blocked"
        case 131:
            return "mission parameters nominal"
        case 132:
            return "ARRIVED x=nan y=0 deg=0"
        case 133:
            return "ARRIVED x=12 y=twelve deg=0"
        case 134:
            raise ToolError("ARRIVED, or so it seems")
        case 135:
            return "?" * 3_000_000
        case 136:
            os._exit(3)
        case 137:
            await ctx.report_progress(1, 4, "rolling")
            await halted.wait()
            return "ERR 40: halted"
        case 138:
            # Deaf: neither a halt nor a cancellation ends it.
            await asyncio.shield(asyncio.sleep(3600))
    degrees = math.degrees(2 * math.atan2(heading["z"], heading["w"]))
    return f"ARRIVED x={x_cm:.1f} y={y_cm:.1f} deg={degrees:.1f}"


@mcp.tool
async def halt() -> str:
    halts.append("halt")
    halted.set()
    return "HALTED"


@mcp.tool
async def forget() -> str:
    goals.clear()
    halts.clear()
    return "FORGOTTEN"


@mcp.tool
async def where() -> dict[str, Any]:
    return {"spot": {"X": 10.0, "Y": -20.0, "deg": 90.0}, "halts": len(halts), "goals": len(goals)}


@mcp.tool
async def photo() -> ImageContent:
    return ImageContent(type="image", data="bm90IGEgcGljdHVyZQ==", mime_type="image/jpeg")


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ready-file", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--token")
    given = parser.parse_args()
    if given.token:
        mcp.auth = StaticTokenVerifier({given.token: {"client_id": "quartet", "scopes": []}})
    if given.ready_file is None:
        await mcp.run_stdio_async(show_banner=False)
        return
    config = uvicorn.Config(mcp.http_app(), host="127.0.0.1", port=given.port, log_level="error")
    config.load()
    sockets = [config.bind_socket()]
    port = sockets[0].getsockname()[1]
    temporary = given.ready_file.with_suffix(".new")
    temporary.write_text(json.dumps({"rover": f"http://127.0.0.1:{port}/mcp"}))
    temporary.replace(given.ready_file)
    await uvicorn.Server(config).serve(sockets=sockets)


if __name__ == "__main__":
    asyncio.run(main())
