"""The approach agent: drive to an area, find the object, stand at the right distance."""
