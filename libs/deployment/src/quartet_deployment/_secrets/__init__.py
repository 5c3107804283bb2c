"""The secrets of a deployment on disk: one folder per process, with what that process may hold."""
