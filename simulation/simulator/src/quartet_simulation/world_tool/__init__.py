"""Making, proving and drawing worlds; `quartet world` runs it."""
