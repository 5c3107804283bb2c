"""`python -m quartet_moveit`: serve until SIGTERM."""

from quartet_moveit import SERVER
from quartet_tool_server import run

if __name__ == "__main__":
    run(SERVER)
