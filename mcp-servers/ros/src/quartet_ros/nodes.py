"""get_nodes, get_node_details."""

from quartet_contracts.tools.ros import NamesResult, NodeDetailsResult
from quartet_robot_link.permits import absolute
from quartet_ros.graph import ROSAPI_S, Contains, Limit, Name, all_nodes, page, require
from quartet_tool_server import ToolServer

MAX_LISTED = 60
"""Names shown of each list of a node."""


def register(server: ToolServer) -> None:
    """Add get_nodes and get_node_details."""

    @server.tool(read_only=True)
    async def get_nodes(contains: Contains = "", limit: Limit = 50) -> NamesResult:
        """Names of the running ROS nodes, at most `limit`. Failures: ROS_ERROR, TIMEOUT, BRIDGE_UNAVAILABLE."""
        nodes = await all_nodes(server.robot)
        shown, text = page([name for name in nodes if contains.lower() in name.lower()], limit)
        return NamesResult(names=shown, total=len(nodes), message=text)

    @server.tool(read_only=True)
    async def get_node_details(node: Name) -> NodeDetailsResult:
        """Topics that a node publishes and subscribes, and its services; at most 60 of each.

        Failures: INVALID_PARAMETERS (no such node; the message has similar ones), ROS_ERROR, TIMEOUT,
        BRIDGE_UNAVAILABLE.
        """
        name = absolute(node)
        # Looked up first: rosapi 2.7.1 dies of a node that it does not know.
        require(name, await all_nodes(server.robot), "node", "get_nodes")
        found = await server.robot.link.call_service("/rosapi/node_details", {"node": name}, timeout_s=ROSAPI_S)
        lists = {key: sorted(found.get(key) or []) for key in ("publishing", "subscribing", "services")}
        cut = [f"{len(names) - MAX_LISTED} more of {key}" for key, names in lists.items() if len(names) > MAX_LISTED]
        return NodeDetailsResult(
            node=name,
            publishing=lists["publishing"][:MAX_LISTED],
            subscribing=lists["subscribing"][:MAX_LISTED],
            services=lists["services"][:MAX_LISTED],
            message="; ".join(cut),
        )
