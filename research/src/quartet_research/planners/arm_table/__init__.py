"""The three-dimensional experiment of Chen et al. (ICRA 2024): arms at one table sort boxes into bowls, in MuJoCo.

world = ArmTable.generate(arms=3, seed=1)     a World of the harness: actions, check, step
world.check(plan)                             also arms that would touch each other on their ways
good_step(world)                              a plan of rules, which the reference speakers use
"""

from quartet_research.planners.arm_table.layout import ARM_COUNTS, Layout
from quartet_research.planners.arm_table.reference import good_step, lower_bound
from quartet_research.planners.arm_table.world import ArmTable

__all__ = ["ARM_COUNTS", "ArmTable", "Layout", "good_step", "lower_bound"]
