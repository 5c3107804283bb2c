"""MuJoCo's settings of every scene in which a gripper holds things by friction."""

import mujoco

TIMESTEP = 0.002
"""Of the physics [s]."""


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
