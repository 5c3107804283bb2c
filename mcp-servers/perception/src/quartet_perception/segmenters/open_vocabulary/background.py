"""A background thread for a model that is slow to load and slow to use: one use at a time, no wait without limit."""

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Generic, Literal, TypeVar

from quartet_perception.errors import (
    PerceptionError,
    SegmenterError,
    SegmenterLoadingError,
    SegmenterTimeoutError,
    SegmenterUnavailableError,
)
from quartet_perception.segmenters.base import caller_left

logger = logging.getLogger(__name__)

T = TypeVar("T")
R = TypeVar("R")
State = Literal["loading", "ready", "failed"]

RETRY_S = 30.0
"""A failed loading is tried again by the first use after this time, so that mended weights need no restart."""
_POLL_S = 0.05


class Background(Generic[T]):
    """Starts loading at once, in a thread, then applies one function after the other to what was loaded."""

    def __init__(self, load: Callable[[], T], *, what: str, retry_s: float = RETRY_S) -> None:
        self._load, self._what, self._retry_s = load, what, retry_s
        self._loaded: T | None = None
        self._failure: SegmenterError | None = None
        self._since = time.monotonic()
        self._state: State = "loading"
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="open-vocabulary")
        self._executor.submit(self._try_to_load)

    @property
    def state(self) -> State:
        """Whether it is loading, ready or failed."""
        return self._state

    def health(self) -> dict[str, str]:
        """Return `state`, and `detail` when it failed."""
        failure = self._failure
        return {"state": self._state} | ({"detail": str(failure)} if failure is not None else {})

    def use(self, function: Callable[[T], R], deadline: float) -> R:
        """Return `function` of what was loaded. `deadline`: time.monotonic() by which its result must be there.

        A use that has not begun when its caller leaves, or when its time is over, never begins. Raises what `function`
        raises, as SegmenterUnavailableError where it is no error of perception, the failure of the loading,
        SegmenterLoadingError, SegmenterTimeoutError.
        """
        left = caller_left.get()
        waiting = self._executor.submit(self._used, function, left)
        while not waiting.done():
            remaining = deadline - time.monotonic()
            if remaining <= 0 or (left is not None and left.is_set()):
                waiting.cancel()
                raise self._too_late()
            wait([waiting], timeout=min(_POLL_S, remaining))
        return waiting.result()

    def close(self) -> None:
        """End the thread after its present work."""
        self._executor.shutdown(cancel_futures=True)

    def _used(self, function: Callable[[T], R], left: threading.Event | None) -> R:
        if left is not None and left.is_set():
            raise self._too_late()
        if self._loaded is None and time.monotonic() - self._since >= self._retry_s:
            self._since, self._state = time.monotonic(), "loading"
            self._try_to_load()
        if self._loaded is None:
            assert self._failure is not None
            # A new one for every caller: a traceback must not grow from call to call.
            raise type(self._failure)(str(self._failure))
        try:
            return function(self._loaded)
        except PerceptionError:
            raise
        except Exception as error:
            logger.exception("%s failed", self._what)
            raise SegmenterUnavailableError(
                f"{self._what} failed: {type(error).__name__}: {error}; the log of the perception server has the "
                "details. After a fault of the GPU (a CUDA error) it must be started anew"
            ) from error

    def _try_to_load(self) -> None:
        began = time.monotonic()
        try:
            self._loaded = self._load()
        except SegmenterError as failure:
            self._failed(failure)
        except Exception as error:
            logger.exception("%s cannot be loaded", self._what)
            self._failed(SegmenterUnavailableError(f"{self._what} cannot be loaded: {type(error).__name__}: {error}"))
        else:
            self._failure, self._state = None, "ready"
            logger.info("%s: loaded in %.1f s", self._what, time.monotonic() - began)

    def _failed(self, failure: SegmenterError) -> None:
        text = str(failure)
        logger.error("%s", text)
        # Without its traceback, which holds what was loaded so far, and with it the memory that the next try needs.
        self._failure, self._since, self._state = type(failure)(text), time.monotonic(), "failed"

    def _too_late(self) -> SegmenterError:
        if self._state == "loading":
            return SegmenterLoadingError(
                f"{self._what} is still being loaded, since {time.monotonic() - self._since:.0f} s; try again later, "
                "/health of the perception server says when it is ready"
            )
        return SegmenterTimeoutError(
            f"{self._what} gave no answer in time: it is slow, or busy with other pictures; try again, give it longer "
            "with QUARTET_SEGMENTER_TIMEOUT_S, or choose a GPU or a smaller model (QUARTET_SEGMENTER_DEVICE, "
            "QUARTET_SEGMENTER_MODEL)"
        )
