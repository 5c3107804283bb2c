"""What is on the ROS graph of a robot that does not drive."""


async def test_the_arms_nodes_are_there_and_nav2s_are_not(robot):
    topics = await robot.link.call_service("/rosapi/topics")
    nodes = await robot.link.call_service("/rosapi/nodes")
    assert {"/joint_states", "/tf", "/tf_static", "/odom", "/gripper/status", "/clock"} <= {*topics["topics"]}
    assert not {"/scan", "/map", "/plan", "/amcl_pose", "/battery_state"} & {*topics["topics"]}
    assert {"/move_group", "/panda_hand_controller", "/robot_guard"} <= {*nodes["nodes"]}
    assert not {"/bt_navigator", "/planner_server", "/amcl", "/docking_server"} & {*nodes["nodes"]}


async def test_the_base_stands_where_the_arm_does(robot):
    place = await robot.transform("map", "base_footprint")
    assert place.apply((0.0, 0.0, 0.0)) == (-0.3, 0.0, 0.0)
