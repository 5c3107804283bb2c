"""Runs studies: reference speakers in this process, language models on Inspect AI (the extra `inspect`)."""

from quartet_research.harness.experiment.command import run

__all__ = ["run"]
