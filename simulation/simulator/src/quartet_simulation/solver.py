"""MuJoCo's settings of every scene in which a gripper holds things by friction."""

import mujoco

TIMESTEP = 0.002
"""Of the physics [s]."""
PAD_FRICTION = (1.0, 0.005, 0.0001)
"""Of rubber pads: sliding, torsional [m], rolling [m]."""
PAD_SOLREF, PAD_SOLIMP = (0.004, 1.0), (0.98, 0.999, 0.001)
"""Stiffness of a contact with a pad. With MuJoCo's own impedance (0.9 to 0.95), what is held creeps through the fingers
by 5 mm a minute; with 0.995 in place of 0.98, heavy things slip in turns."""


def new_scene(name: str) -> mujoco.MjSpec:
    """Return an empty scene with the settings that were measured for friction grasps; angles are in radians."""
    spec = mujoco.MjSpec()
    spec.modelname = name
    spec.compiler.degree = False
    spec.option.timestep = TIMESTEP
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 10
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.visual.global_.offwidth, spec.visual.global_.offheight = 1280, 960
    return spec
