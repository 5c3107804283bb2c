"""Helpers that tests of several folders share; fixtures stand in the conftest.py of their folder."""
