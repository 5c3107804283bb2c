"""The guard's core runs on the system Python of a robot's computer, which has none of the project's dependencies."""

import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[3] / "libs" / "safety" / "src"
SCRIPT = f"""
import sys
sys.path.insert(0, {str(SOURCE)!r})
import quartet_safety._durable, quartet_safety.errors, quartet_safety.guard
foreign = {{name.partition(".")[0] for name in sys.modules}} - set(sys.stdlib_module_names) - {{"__main__"}}
print(sorted(foreign))
"""


def test_the_guard_needs_the_standard_library_alone() -> None:
    isolated = subprocess.run([sys.executable, "-I", "-S", "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert isolated.stdout.strip() == "['quartet_safety']"
