"""Navigation: costmap, path planning, following, and Nav2's simple behaviours."""
