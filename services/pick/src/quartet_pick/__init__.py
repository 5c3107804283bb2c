"""The pick agent: grasp the object from above and lift it."""
