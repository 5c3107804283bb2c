"""What robots can reach, see and pass, computed from their descriptions: `quartet resume`."""
