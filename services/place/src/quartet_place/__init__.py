"""The place agent: put the held object down and check that it lies there."""
