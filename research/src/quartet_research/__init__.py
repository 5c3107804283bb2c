"""Experiments of the literature with teams of language models, a folder per paper, on one harness."""
