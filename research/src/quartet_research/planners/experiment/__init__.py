"""Experiments with teams of language models on Inspect AI (the extra `inspect`), which runs, logs and resumes them."""
