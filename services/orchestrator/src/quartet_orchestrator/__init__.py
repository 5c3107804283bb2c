"""Orchestrator: takes sentences over HTTP, runs one LLM loop for each task, calls the sub-agents."""
