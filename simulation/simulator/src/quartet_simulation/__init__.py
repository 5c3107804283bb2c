"""A MuJoCo home with a mobile manipulator that speaks rosbridge v2."""
