"""Pictures as a browser gets them: on the origin of the session, so nothing in them may run."""

from fastapi.responses import Response

from quartet_orchestrator.api.problems import Problem

SERVED = ("image/jpeg", "image/png")
"""SVG and HTML carry scripts."""
SAFE = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox"}


def image_response(data: bytes, media_type: str, headers: dict[str, str]) -> Response:
    """The answer with a picture that came from a robot's server. Raises Problem 404 for what is not SERVED."""
    if media_type not in SERVED:
        valid = ", ".join(SERVED)
        raise Problem(404, "No picture", f"what is there is '{media_type[:80]}' and is not served; valid: {valid}")
    return Response(data, media_type=media_type, headers={**headers, **SAFE})
