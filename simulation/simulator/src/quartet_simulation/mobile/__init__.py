"""Mobile robots put together: base, arm with gripper, cameras."""
