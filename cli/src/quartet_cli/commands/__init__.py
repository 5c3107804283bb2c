"""The commands; every module has `register(app)`."""
