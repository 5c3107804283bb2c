"""The robot as ROS 2 Jazzy shows it: types, the graph of topics, services and actions, and its nodes."""
