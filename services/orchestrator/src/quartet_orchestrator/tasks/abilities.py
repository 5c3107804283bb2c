"""Why a robot cannot do what a sentence, a call or an errand asks: it cannot hold, reach, see or enter it.

Each answer is a reason with numbers, '' where the robot can or too little is known. Names are read as the site has
them; words that it does not know rule nothing out.
"""

from collections.abc import Callable, Iterable, Mapping

from quartet_contracts import ApproachArguments, NextAction, PlaceArguments, StepArguments
from quartet_orchestrator.tasks.briefs import RobotBrief
from quartet_orchestrator.tasks.names import FLOOR
from quartet_orchestrator.tasks.verbs import asks_to_handle, may_ask_to_handle, puts_in, without_references
from quartet_site import CatalogueObject, Container, Surface, is_floor


def unable_to_follow(brief: RobotBrief, sentence: str) -> str:
    """Return why the robot cannot do what a person asks, by the things, places and areas that the sentence names."""
    names, able = brief.names, brief.setup.abilities
    said, targets = without_references(sentence), _targets(brief, sentence)
    things = [_thing(brief, name) for name in names.objects_in(said)]
    places = [_place(brief, name) for name in names.places_in(said)]
    reasons = [_no_entry(brief, name) for name in names.destinations_in(said)]
    if asks_to_handle(sentence) or (things and may_ask_to_handle(sentence)):
        reasons += [able.no_hold(thing) for thing in things if thing]
        # Of several things it is open which one the place is for, and of other places than targets, what happens there.
        only = things[0] if len(things) == 1 else None
        acts = [(able.no_put if place.name in targets else able.no_handle, place) for place in places if place]
        reasons += [no_act(place, only) for no_act, place in acts]
    return _first(reasons)


def unable_to_step(brief: RobotBrief, arguments: StepArguments, sentence: str = "", held: str = "") -> str:
    """Return why the robot cannot do a skill; what it is for may follow from the sentence and from what is held."""
    able = brief.setup.abilities
    if isinstance(arguments, PlaceArguments):
        place, thing = _place(brief, arguments.target_location), _thing(brief, arguments.object_name)
        return able.no_put(place, thing) if place else ""
    if not isinstance(arguments, ApproachArguments):
        thing = _thing(brief, arguments.object_name)
        return able.no_hold(thing) if thing else ""
    reasons = [_no_entry(brief, arguments.target_area)]
    if arguments.next_action is NextAction.PICK:
        thing = _thing(brief, arguments.object_name)
        reasons += [able.no_hold(thing)] if thing else []
        reasons += [_no_source(brief, thing, arguments.target_area, sentence)]
    elif arguments.next_action is not NextAction.LOOK and (place := _place(brief, arguments.object_name)):
        reasons += [able.no_put(place, _thing(brief, held))]
    return _first(reasons)


def unable_to_move(brief: RobotBrief, name: str, area: str, target: str) -> str:
    """Return why the robot cannot carry an object from an area, '' where it is not known, to a place."""
    thing, place = _thing(brief, name), _place(brief, target)
    reasons = [brief.setup.abilities.no_hold(thing)] if thing else []
    reasons += [brief.setup.abilities.no_put(place, thing)] if place else []
    return _first([*reasons, _no_entry(brief, area), _no_entry(brief, target)])


def refused(briefs: Mapping[str, RobotBrief], robot: str, unable: Callable[[RobotBrief], str]) -> str:
    """Return why a robot cannot do something, and which others of its place can; '' where it can."""
    if not (reason := unable(briefs[robot])):
        return ""
    here = {name: brief for name, brief in briefs.items() if brief.site is briefs[robot].site}
    others = [name for name, brief in here.items() if not unable(brief)]
    who = f"{' and '.join(others)} can do it" if others else "no other robot can"
    return f"{robot} is not able to do this: {reason}; {who}"


def _no_source(brief: RobotBrief, thing: CatalogueObject | None, area: str, sentence: str) -> str:
    """Return why a thing is picked up from none of the surfaces that the sentence names in an area."""
    targets = _targets(brief, sentence)
    names = [name for name in brief.names.places_in(without_references(sentence)) if name not in targets]
    named = [_place(brief, name) for name in names]
    there = [one for one in named if isinstance(one, Surface) and one.area == brief.names.area(area)]
    reasons = [brief.setup.abilities.no_pick(one, thing) for one in there]
    return reasons[0] if reasons and all(reasons) else ""


def _targets(brief: RobotBrief, sentence: str) -> set[str]:
    """Return the places at which a sentence certainly asks to put something."""
    return {name for part in puts_in(sentence) for name in brief.names.places_in(part)[-1:]}


def _no_entry(brief: RobotBrief, name: str) -> str:
    place = _place(brief, name)
    area = brief.site.area(place.area if place else brief.names.area(name) or "")
    return brief.setup.abilities.no_entry(area) if area else ""


def _thing(brief: RobotBrief, name: str) -> CatalogueObject | None:
    return brief.site.object(brief.names.thing(name))


def _place(brief: RobotBrief, name: str) -> Surface | Container | None:
    found = None if is_floor(name) else brief.names.place(name)
    places = () if found in (None, FLOOR) else (*brief.site.surfaces, *brief.site.containers)
    return next((place for place in places if place.name == found), None)


def _first(reasons: Iterable[str]) -> str:
    return next(filter(None, reasons), "")
