"""Arms that a model file describes, MJCF or URDF, in place of those that the simulation has."""
