"""Check of the names in a call, before anything moves: areas, places and things that nobody knows."""

from collections.abc import Awaitable, Callable, Sequence

from quartet_contracts import HELD_OBJECT, PARKING, ApproachArguments, NextAction, PlaceArguments, StepArguments
from quartet_orchestrator.tasks.names import SiteNames
from quartet_site import Area, CatalogueObject, Container, SiteFile, Surface, is_floor, normalise

USE_ONE = "Use one of these, or report the object with this code"


class NameCheck:
    """Tells which names of a call neither the site file nor, for things, the perception server knows.

    A segmenter that takes free text finds more than the site file names, so that the perception server is asked.
    """

    def __init__(self, site: SiteFile, names: SiteNames, knows: Callable[[str], Awaitable[bool | None]]) -> None:
        """`knows` asks the perception server whether it can look for a thing of this name; None: it did not say."""
        self._site = site
        self._names = names
        self._knows = knows

    async def unknown(self, arguments: StepArguments) -> str | None:
        """Return what is not known of a call's area, place or thing, and what there is; None when all is known.

        What has an id was seen, whatever it is called.
        """
        thing, place = arguments.object_name, ""
        if isinstance(arguments, ApproachArguments):
            if not self._names.is_area(arguments.target_area):
                return f"the site has no area '{arguments.target_area}'; it has {_listed(self._site.areas)}. {USE_ONE}"
            if arguments.next_action not in {NextAction.PICK, NextAction.LOOK}:
                thing, place = "", "" if arguments.object_id else thing
        elif isinstance(arguments, PlaceArguments):
            place = "" if arguments.target_id else arguments.target_location
        if place and not self._is_named(place):
            area = self._names.landmark_area(place)
            if area and await self._knows(place) is not False:
                return None
            return self._unknown_place(place, area)
        seen = arguments.held_id if isinstance(arguments, PlaceArguments) else arguments.object_id
        if thing and not seen and not self._is_known(thing) and await self._knows(thing) is False:
            return self._unknown_thing(thing)
        return None

    def _unknown_thing(self, name: str) -> str:
        """Return why no camera can look for `name`, what they know, and for a landmark how to see it."""
        area = self._names.landmark_area(name)
        if area is None:
            return f"nothing here is called '{name}'; there are {_listed(self._site.objects)}. {USE_ONE}"
        return (
            f"the cameras cannot look for '{name}', which is furniture of the {area}. To go there, approach with "
            f"target_area '{area}', object_name '{area}' and next_action 'look'"
        )

    def _unknown_place(self, name: str, area: str | None) -> str:
        """Return why nothing can be put at `name`, and which places there are: of its area, for a landmark."""
        places = [*self._site.surfaces, *self._site.containers]
        if area is None:
            return f"the site has no place '{name}'; it has {_listed(places)}, and the floor. {USE_ONE}"
        near = _listed([place for place in places if place.area == area]) or "the floor only"
        return (
            f"nothing can be put at '{name}', which is furniture of the {area}. The {area} has {near}. Ask the person "
            "where to put it"
        )

    async def unknown_of(self, names: Sequence[str]) -> list[str]:
        """Return those of the names of things and places that nobody knows, each once."""
        return [one for one in dict.fromkeys(names) if one and not (self._is_named(one) or await self._knows(one))]

    def _is_named(self, words: str) -> bool:
        """Return whether `words` have a name of the site in them."""
        return self._is_known(words) or self._names.is_named(words)

    def _is_known(self, name: str) -> bool:
        """Return whether a name needs no question to perception: more words than a name may be another thing."""
        return normalise(name) in {HELD_OBJECT, PARKING} or is_floor(name) or self._names.is_name(name)


def _listed(things: Sequence[Area | Surface | Container | CatalogueObject]) -> str:
    return ", ".join(one.name for one in things)
