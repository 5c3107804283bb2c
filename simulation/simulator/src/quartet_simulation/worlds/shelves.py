"""Shelves, boards on a wall, and single tops of the scene or of other furniture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from quartet_simulation.worlds.furniture import Furniture
from quartet_simulation.worlds.paint import COLOURS
from quartet_simulation.worlds.piece import Length, Painter, Piece, Side, Top, WithTop
from quartet_simulation.worlds.world import Rect
from quartet_site import Name

BOARD, TOP, FOOT, POST = 0.025, 0.03, 0.05, 0.03
"""Thickness of boards, sides and back, of the top, height of the foot, and width of posts [m]."""
LEAST_GAP = 0.05
"""Free height between two boards [m]."""
NARROWEST = 0.1
"""Width and depth of a shelf, at least [m]."""


class SceneTop(WithTop):
    """A top that the scene or another piece has, on which things stand; it has no shapes of its own."""

    kind: Literal["top"]
    front: Side | None = None
    """The only side from which a robot uses it; any side if it is left out."""

    def add(self, make: Furniture, paint: Painter) -> None:
        """Add nothing."""


class Board(Top):
    """A board between the bottom and the top of a shelf."""

    height: Length
    """Of its upper side over the floor [m]."""
    name: Name | None = None
    """Things stand on a board with a name."""


def _board(value: Any) -> Any:
    return {"height": value} if isinstance(value, int | float) else value


class Shelf(WithTop):
    """A shelf with a flat top and boards, open at its front; it stands, or hangs on a wall."""

    kind: Literal["shelf"]
    front: Side
    bottom: Annotated[float, Field(ge=0, le=5)] = 0.0
    """Height of its underside over the floor; 0 if it stands on it [m]."""
    boards: Annotated[list[Annotated[Board, BeforeValidator(_board)]], Field(max_length=20)] | None = None
    """Boards between bottom and top; one in the middle if it is left out."""
    back: bool = True
    """false: open at the back too."""
    sides: bool = True
    """false: posts at the corners instead."""

    @model_validator(mode="after")
    def _boards_fit(self) -> Self:
        (x0, y0, x1, y1), foot = self.rect, self._foot()
        if min(x1 - x0, y1 - y0) < NARROWEST:
            raise ValueError(f"rect {list(self.rect)} is too narrow for a shelf; valid from {NARROWEST} m on each side")
        if self.height - TOP - foot < LEAST_GAP:
            raise ValueError(
                f"a shelf with its underside at {self.bottom} m is at least {foot + LEAST_GAP + TOP:.3f} m high; "
                f"height is {self.height}"
            )
        below = foot
        for upper in [*sorted(self._heights()), self.height]:
            thickness = TOP if upper == self.height else BOARD
            free = max(upper - thickness - below, 0.0)
            if free < LEAST_GAP - 1e-9:
                middle = "; without boards there is one in the middle, with `boards: []` none"
                raise ValueError(
                    f"a board or top {upper:g} m high leaves {free:.3f} m over what is below it; "
                    f"valid from {LEAST_GAP} m, between the bottom ({foot:.3f} m) and the top ({self.height} m)"
                    f"{middle if self.boards is None else ''}"
                )
            below = upper
        return self

    def _foot(self) -> float:
        """Return the height of the upper side of its bottom [m]."""
        return self.bottom + (BOARD if self.bottom else FOOT)

    def _heights(self) -> list[float]:
        """Return the heights of the upper sides of its boards [m]."""
        if self.boards is None:
            return [(self.bottom + self.height + BOARD) / 2]
        return [board.height for board in self.boards]

    def places(self) -> Sequence[Piece]:
        """Return its top, where things stand on it, and its boards with a name."""
        return [*super().places(), *(self._top_of(board) for _, board in self.named_boards())]

    def named_boards(self) -> list[tuple[int, Board]]:
        """Return the boards with a name, with their numbers."""
        return [(number, board) for number, board in enumerate(self.boards or []) if board.name is not None]

    def _top_of(self, board: Board) -> SceneTop:
        x0, y0, x1, y1 = self.rect
        along_x, back = self.front in "ns", BOARD * self.back
        side = BOARD if self.sides else POST
        low = {"s": (side, 0.0), "n": (side, back), "w": (0.0, side), "e": (back, side)}[self.front]
        high = (side, back - low[1]) if along_x else (back - low[0], side)
        return SceneTop(
            name=board.name or "",
            kind="top",
            rect=(round(x0 + low[0], 4), round(y0 + low[1], 4), round(x1 - high[0], 4), round(y1 - high[1], 4)),
            height=board.height,
            colour=self.colour,
            surface=Top(aliases=board.aliases, approach=board.approach, strips=board.strips),
            front=self.front,
        )

    def add(self, make: Furniture, paint: Painter) -> None:
        """Add its shapes to a scene."""
        (x0, y0, x1, y1), colour, foot, under = self.rect, paint(self.colour), self._foot(), self.height - TOP
        make.box(f"{self.name} top", self.rect, (under, self.height), colour)
        for number, height in enumerate(self._heights()):
            make.box(f"{self.name} board {number}", self.rect, (height - BOARD, height), colour)
        make.box(f"{self.name} foot", self.rect, (self.bottom, foot), colour)
        if self.back:
            backs: dict[Side, Rect] = {
                "s": (x0, y1 - BOARD, x1, y1),
                "n": (x0, y0, x1, y0 + BOARD),
                "w": (x1 - BOARD, y0, x1, y1),
                "e": (x0, y0, x0 + BOARD, y1),
            }
            make.box(f"{self.name} back", backs[self.front], (foot, under), COLOURS["grey"])
        ends = (
            [(x0, y0, x0 + BOARD, y1), (x1 - BOARD, y0, x1, y1)]
            if self.front in "ns"
            else [(x0, y0, x1, y0 + BOARD), (x0, y1 - BOARD, x1, y1)]
        )
        posts = [(x, y, x + POST, y + POST) for x in (x0, x1 - POST) for y in (y0, y1 - POST)]
        for number, end in enumerate(ends if self.sides else posts):
            make.box(f"{self.name} end {number}", end, (foot, under), colour)


class WallBoard(WithTop):
    """A single board on a wall, with free room below it."""

    kind: Literal["wall board"]
    thickness: Length = BOARD

    @model_validator(mode="after")
    def _is_above_the_floor(self) -> Self:
        if self.thickness >= self.height:
            raise ValueError(f"thickness is {self.thickness}; valid: less than its height of {self.height} m")
        return self

    def add(self, make: Furniture, paint: Painter) -> None:
        """Add its shapes to a scene."""
        make.box(self.name, self.rect, (self.height - self.thickness, self.height), paint(self.colour))
