"""Making, proving and drawing worlds; `quartet world` runs it."""

import re

GENERATED = re.compile(r"generated:(\d{1,9})")
"""Name of a home that is drawn from a seed."""
