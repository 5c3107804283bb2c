"""The MALMM experiment with language models, on Inspect."""
