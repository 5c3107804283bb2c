"""Parts that the experiments share: worlds, models, budgets, runs on Inspect, and speakers by rules."""
