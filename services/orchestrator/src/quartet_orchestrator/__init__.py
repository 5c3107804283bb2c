"""The orchestrator: takes sentences over HTTP, runs one LLM loop per task, calls the sub-agents."""
