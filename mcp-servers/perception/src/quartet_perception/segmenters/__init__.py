"""The segmenters, which find named objects in a picture, and how one is chosen (docs/perception.md).

`base` has the interface and the registry, `chain` the choice; a module for each segmenter registers itself.
"""
