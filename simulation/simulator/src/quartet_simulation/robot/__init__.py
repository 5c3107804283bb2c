"""The robot: its dimensions, its MuJoCo model and its controllers."""
