"""`python -m quartet_nav2`: serve until SIGTERM."""

from quartet_nav2 import SERVER
from quartet_tool_server import run

if __name__ == "__main__":
    run(SERVER)
