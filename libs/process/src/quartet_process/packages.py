"""Packages of others whose own code imports far more than the modules that are used of them."""

import importlib.util
import sys
from typing import Any


def defer_package(name: str, **homes: str) -> None:
    """Let `import name.module` import that module alone: the package's own code runs when a name of it is first used.

    Its modules are found as before. `homes` are names that modules of the package take from it, each with the module to
    take it from without that. Nothing changes for those who use the package as a whole, nor where it is imported
    already.
    """
    if name in sys.modules or (spec := importlib.util.find_spec(name)) is None or (loader := spec.loader) is None:
        return
    package: Any = importlib.util.module_from_spec(spec)

    def find(attribute: str) -> Any:
        if attribute in homes:
            return getattr(importlib.import_module(homes[attribute]), attribute)
        if importlib.util.find_spec(f"{name}.{attribute}") is not None:
            return importlib.import_module(f"{name}.{attribute}")
        del package.__getattr__
        loader.exec_module(package)
        return getattr(package, attribute)

    package.__getattr__ = find
    sys.modules[name] = package
