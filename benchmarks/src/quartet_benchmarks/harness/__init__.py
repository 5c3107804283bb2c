"""What experiments with language models share: models, money, runs on Inspect, and speakers by rules."""
