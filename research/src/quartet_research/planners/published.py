"""What Chen et al. (ICRA 2024) have published, to stand beside what is measured here."""

PUBLISHED = {
    ("boxnet1", "dmas"): (25.0, 2.25, 16.00, 48.56),
    ("boxnet1", "hmas1"): (52.5, 1.58, 5.06, 13.80),
    ("boxnet1", "cmas"): (75.0, 1.92, 1.89, 4.09),
    ("boxnet1", "hmas2"): (82.5, 1.33, 4.62, 9.00),
    ("boxnet2", "dmas"): (0.0, None, None, None),
    ("boxnet2", "hmas1"): (7.5, 1.38, 8.24, 9.32),
    ("boxnet2", "cmas"): (27.5, 1.22, 1.00, 1.00),
    ("boxnet2", "hmas2"): (57.5, 1.21, 3.35, 5.22),
    ("warehouse", "dmas"): (0.0, None, None, None),
    ("warehouse", "hmas1"): (5.0, 1.62, 8.52, 14.02),
    ("warehouse", "cmas"): (15.0, 1.73, 1.00, 1.00),
    ("warehouse", "hmas2"): (62.5, 1.16, 5.48, 9.21),
    ("boxlift", "dmas"): (52.5, 1.42, 37.13, 50.34),
    ("boxlift", "hmas1"): (67.5, 1.33, 18.99, 24.54),
    ("boxlift", "cmas"): (90.0, 1.99, 1.00, 1.00),
    ("boxlift", "hmas2"): (100.0, 1.11, 14.90, 21.52),
}
"""Success [%], steps, API calls and tokens, each divided by the best team of that trial; GPT-4."""

PUBLISHED_HISTORY = {
    "boxnet1": (77.5, 82.5, 75.0),
    "boxnet2": (27.5, 57.5, 32.5),
    "warehouse": (45.0, 62.5, 52.5),
    "boxlift": (0.0, 100.0, 90.0),
}
"""Success [%] of HMAS-2 with GPT-4 that remembers nothing, states and plans, and the discussions, too."""
