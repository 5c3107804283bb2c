"""The robot guard over ROS 2: an adapter of `quartet_safety.guard`.

`node`, `brakes` and `__main__` need rclpy; every other module is plain Python.
"""
