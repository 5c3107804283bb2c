"""The EMOS experiment: unlike robots share tasks out in buildings of several storeys."""
