# As ndimage.pyi.
import numpy as np
from numpy.typing import ArrayLike, NDArray

def linear_sum_assignment(
    cost_matrix: ArrayLike, maximize: bool = False
) -> tuple[NDArray[np.intp], NDArray[np.intp]]: ...
