"""A person in the loop (RoCo, Table 3): a person and a robot bring blocks into a bin."""
