"""What is measured, against whom."""
