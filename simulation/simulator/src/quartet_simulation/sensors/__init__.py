"""Sensors: cameras, laser, localisation, and their noise."""
