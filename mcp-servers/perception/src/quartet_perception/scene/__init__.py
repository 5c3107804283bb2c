"""What one RGB-D picture shows: colours, support planes, regions, and solids fitted to its points.

Everything here works on a `View` and knows neither a robot nor a server. Points are in the base frame: x forward,
y left, z up, origin on the floor [m].
"""
