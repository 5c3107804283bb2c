"""What travels between Quartet's processes: tasks, skill requests and results, grants, tool results, journal events."""
