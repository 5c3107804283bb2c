"""The robot: its dimensions, its MuJoCo model and its controllers."""

MOST_ROBOTS = 8
"""In one world; each has a collision bit of its own."""

__all__ = ["MOST_ROBOTS"]
