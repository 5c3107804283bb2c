"""The arm: kinematics, planning, trajectories and their execution."""
