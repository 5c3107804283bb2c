"""A rosbridge v2 server over the robot's graph, as rosbridge_suite 2.7.1 of ROS 2 Jazzy behaves."""
