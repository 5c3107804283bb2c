"""Figures of the RoCo paper (Mandi et al., ICRA 2024), Table 2, GPT-4: success, steps, and attempts a step."""

PUBLISHED = {
    ("pack", "central"): "0.82; 11.1, 3.9",
    ("cabinet", "central"): "0.90; 4.0, 2.7",
    ("sweep", "central"): "1.00; 8.4, 2.0",
    ("sandwich", "central"): "0.96; 8.8, 1.2",
    ("sort", "central"): "0.70; 8.6, 2.6",
    ("rope", "central"): "0.50; 2.3, 3.9",
    ("pack", "dialogue, no history"): "0.48; 9.2, 3.1",
    ("cabinet", "dialogue, no history"): "1.00; 4.2, 1.4",
    ("sweep", "dialogue, no history"): "0.00; -, 1.0",
    ("sandwich", "dialogue, no history"): "0.33; 9.6, 1.8",
    ("sort", "dialogue, no history"): "0.73; 5.8, 1.4",
    ("rope", "dialogue, no history"): "0.65; 3.7, 3.1",
    ("pack", "dialogue, no feedback"): "0.35; 18.0, 1.0",
    ("cabinet", "dialogue, no feedback"): "0.70; 5.9, 1.0",
    ("sweep", "dialogue, no feedback"): "0.95; 7.6, 1.0",
    ("sandwich", "dialogue, no feedback"): "0.35; 12.6, 1.0",
    ("sort", "dialogue, no feedback"): "0.53; 4.9, 1.0",
    ("rope", "dialogue, no feedback"): "0.45; 3.4, 1.0",
    ("pack", "dialogue"): "0.44; 9.9, 3.5",
    ("cabinet", "dialogue"): "0.75; 4.7, 2.0",
    ("sweep", "dialogue"): "0.95; 7.1, 1.0",
    ("sandwich", "dialogue"): "0.80; 10.2, 1.7",
    ("sort", "dialogue"): "0.93; 4.9, 1.3",
    ("rope", "dialogue"): "0.65; 2.5, 3.1",
}
"""By task and variant. 20 trials each."""
PUBLISHED_TEXT = {
    ("capability", "original"): "GPT-4-0314 0.67, GPT-4-0613 0.68, GPT-3.5 0.68, Claude-v1 0.37",
    ("memory", "original"): "GPT-4-0314 0.84, GPT-4-0613 0.91, GPT-3.5 0.59, Claude-v1 0.70",
    ("inquiry", "original"): "GPT-4-0314 0.79, GPT-4-0613 0.57, GPT-3.5 0.48, Claude-v1 0.55",
    ("respond", "original"): "GPT-4-0314 0.83, GPT-4-0613 0.86, GPT-3.5 0.30, Claude-v1 0.60",
    ("adaptation", "original"): "GPT-4-0314 0.68, GPT-4-0613 0.71, GPT-3.5 0.58, Claude-v1 0.65",
}
"""Table 4, by category and wording."""
