"""The robot's side of Quartet: the robot guard, and what its launch files start."""
