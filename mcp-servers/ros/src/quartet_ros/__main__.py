"""`python -m quartet_ros`: serve until SIGTERM."""

from quartet_ros import SERVER
from quartet_tool_server import run

if __name__ == "__main__":
    run(SERVER)
