"""`python -m quartet_nav2`: serve until SIGTERM."""

from quartet_nav2 import INSTRUCTIONS, NAME, actions, register
from quartet_tool_server import run

if __name__ == "__main__":
    run(NAME, register, actions=actions, instructions=INSTRUCTIONS)
