# As ndimage.pyi.
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

class OptimizeResult:
    x: NDArray[np.float64]
    jac: NDArray[np.float64]

def least_squares(
    fun: Callable[..., NDArray[np.float64]], x0: ArrayLike, *, method: str = "trf", x_scale: Any = 1.0
) -> OptimizeResult: ...
def linear_sum_assignment(
    cost_matrix: ArrayLike, maximize: bool = False
) -> tuple[NDArray[np.intp], NDArray[np.intp]]: ...
