"""How a server reaches the robot: rosbridge v2 client, transforms, camera frames."""
