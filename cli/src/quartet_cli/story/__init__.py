"""A task's journal, told as a story."""

from quartet_cli.story._teller import JsonTeller, StoryTeller, Teller

__all__ = ["JsonTeller", "StoryTeller", "Teller"]
