"""Planner, Coder, Supervisor and the single agent of a team that moves an arm by programs, played by rules.

They know the prompt and nothing else. They prove the harness and compare the frameworks under equal faults; their
figures say nothing about a language model.
"""

from quartet_scripted_model.programs.answer import answer
from quartet_scripted_model.programs.scene import Scene, read_scene
from quartet_scripted_model.programs.speakers import ArmSpeakers, Rates

__all__ = ["ArmSpeakers", "Rates", "Scene", "answer", "read_scene"]
