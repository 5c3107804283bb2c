"""`python -m quartet_perception`: serve one robot's cameras."""

from quartet_perception.server import SERVER
from quartet_tool_server import run

if __name__ == "__main__":
    run(SERVER)
