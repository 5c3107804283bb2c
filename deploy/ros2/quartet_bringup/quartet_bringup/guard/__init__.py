"""The robot guard: stops the robot past everything else and holds it stopped until a person resets it.

`node` and `__main__` need rclpy; every other module is plain Python.
"""
