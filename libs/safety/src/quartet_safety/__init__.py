"""What keeps a robot safe: guard, heartbeats, latch, standstill, fence, motions.

`quartet_safety.guard` and `quartet_safety._durable` need nothing but Python 3.11 or newer, since they also run on the
robot's own computer. This module imports nothing, so that it stays so.
"""
