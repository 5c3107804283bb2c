"""The hand-eye check: how far the cameras' mountings are from what /tf says, from looks at a printed chessboard."""
