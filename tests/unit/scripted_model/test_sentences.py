"""Sentences that the grammar was not written from: what is carried, from where, to where, in which order."""

import pytest

LIVING, DINING, KITCHEN, HALL = "living room", "dining area", "kitchen", "hallway"
PARENTS, KIDS = "parents' bedroom", "kids' room"
HOLD = None

# (sentence, [(object, area to fetch it from or None when the sentence does not say, target, target's area)])
SENTENCES = [
    # where a thing is, behind where it is to go
    ("Hello! On the desk, please: the coke can that's on the shelf.", [("red coke can", LIVING, "desk", KIDS)]),
    (
        "on the nightstand please: the duck standing on the kitchen counter",
        [("yellow rubber duck", KITCHEN, "nightstand", PARENTS)],
    ),
    (
        "Put the sponge from the worktop on the shelf in the lounge.",
        [("green sponge", KITCHEN, "bookshelf", LIVING)],
    ),
    (
        "Set the book from the kitchen counter on the floor in the corridor",
        [("blue book", KITCHEN, "floor", HALL)],
    ),
    # where a thing is, in a clause of its own before the one that says where it is to go, or with its room
    (
        "We want the red soda can on the kitchen counter in the kitchen moved to the desk.",
        [("red coke can", KITCHEN, "desk", KIDS)],
    ),
    (
        "Take the red apple on the bookshelf and dump it in the laundry basket.",
        [("red apple", LIVING, "laundry basket", PARENTS)],
    ),
    (
        "Would you please get rid of the sponge on the desk in the kids' room? It goes in the laundry basket.",
        [("green sponge", KIDS, "laundry basket", PARENTS)],
    ),
    (
        "Onto the desk in the kids' room with the ball on the bookshelf in the living room!",
        [("tennis ball", LIVING, "desk", KIDS)],
    ),
    # the same for another thing
    (
        "Carry the orange from the kitchen to the desk, then do the same with the mug on the bookshelf.",
        [("orange", KITCHEN, "desk", KIDS), ("blue mug", LIVING, "desk", KIDS)],
    ),
    (
        "I need the red apple on the nightstand. And the tennis ball from the hallway as well.",
        [("red apple", None, "nightstand", PARENTS), ("tennis ball", HALL, "nightstand", PARENTS)],
    ),
    (
        "Could you put the remote on the shelf, and the teddy bear too?",
        [("black remote control", None, "bookshelf", LIVING), ("teddy bear", None, "bookshelf", LIVING)],
    ),
    (
        "The cereal on the dining table and the duck that is in the hallway should both go on the worktop.",
        [
            ("yellow cereal box", DINING, "kitchen counter", KITCHEN),
            ("yellow rubber duck", HALL, "kitchen counter", KITCHEN),
        ],
    ),
    # what a thing stands next to says which one is meant, not where it is to go
    ("Bring the blue book beside the green tea box to the desk.", [("blue book", None, "desk", KIDS)]),
    ("take the orange next to the mug from the kitchen to the shelf", [("orange", KITCHEN, "bookshelf", LIVING)]),
    (
        "Carry the duck near the sponge and the book from the kitchen to the desk",
        [("yellow rubber duck", None, "desk", KIDS), ("blue book", KITCHEN, "desk", KIDS)],
    ),
    ("I want the cereal by the coke can on the dining table", [("yellow cereal box", None, "dining table", DINING)]),
    ("Clear the coffee mug next to the orange away into the hamper", [("blue mug", None, "laundry basket", PARENTS)]),
    # "can" is a word for may, or a can
    ("The book on the desk can go in the hamper.", [("blue book", KIDS, "laundry basket", PARENTS)]),
    ("Robot, the coke can can go on the worktop", [("red coke can", None, "kitchen counter", KITCHEN)]),
    ("The cola can could be moved to the desk", [("red coke can", None, "desk", KIDS)]),
    # a place is in the area that is named behind it
    (
        "The coke can standing on the desk to the dining table in the dining area, please",
        [("red coke can", KIDS, "dining table", DINING)],
    ),
    ("Onto the nightstand with the duck in the kids' room!", [("yellow rubber duck", KIDS, "nightstand", PARENTS)]),
    # from one room to the floor of another
    ("Leave the duck from the kids' room on the floor of the hallway", [("yellow rubber duck", KIDS, "floor", HALL)]),
    (
        "put the duck that is on the desk on the floor in the sitting room",
        [("yellow rubber duck", KIDS, "floor", LIVING)],
    ),
    # what is not wanted where it is
    (
        "We don't need the cereal box on the counter any longer, drop it in the trash",
        [("yellow cereal box", KITCHEN, "kitchen bin", KITCHEN)],
    ),
    ("I do not want the pepsi can any more. Toss it in the bin", [("blue soda can", None, "kitchen bin", KITCHEN)]),
    (
        "Nobody needs the sponge in the hallway. Into the paper basket with it!",
        [("green sponge", HALL, "waste basket", LIVING)],
    ),
    # orders without a verb, and verbs of falling and having
    ("Into the toy box with the duck from the kitchen!", [("yellow rubber duck", KITCHEN, "toy basket", KIDS)]),
    ("Onto the shelf with the book, please", [("blue book", None, "bookshelf", LIVING)]),
    ("One last thing: the tennis ball to the desk", [("tennis ball", None, "desk", KIDS)]),
    (
        "pick up the sponge in the hallway and let it fall into the bin",
        [("green sponge", HALL, "kitchen bin", KITCHEN)],
    ),
    ("Let's have the remote on the nightstand", [("black remote control", None, "nightstand", PARENTS)]),
    (
        "Put the coke in the kitchen on the floor in the bedroom",
        [("red coke can", KITCHEN, "floor", PARENTS)],
    ),
    # words before the order join nothing, and "that is" says more of the thing before it
    (
        "Hey robot, lay the coke can that's on the dining table on the floor of the hallway",
        [("red coke can", DINING, "floor", HALL)],
    ),
    ("One more thing: the sponge that is on the worktop to the desk", [("green sponge", KITCHEN, "desk", KIDS)]),
    (
        "Bring the duck in the kitchen and the ball from the hallway to the desk",
        [("yellow rubber duck", KITCHEN, "desk", KIDS), ("tennis ball", HALL, "desk", KIDS)],
    ),
    ("Bring the duck in the kitchen", [("yellow rubber duck", None, "kitchen counter", KITCHEN)]),
    ("get the tea box in the kitchen and stand it on the shelf", [("green tea box", KITCHEN, "bookshelf", LIVING)]),
    (
        "On the floor in the hallway, that's where I need the book on the desk",
        [("blue book", KIDS, "floor", HALL)],
    ),
    ("On the bedside table, please: the orange from the kitchen", [("orange", KITCHEN, "nightstand", PARENTS)]),
    # orders, from plain to chatty
    (
        "pick up the red coke can in the kitchen and place it on the wooden coffee table in the living room",
        [("red coke can", KITCHEN, "wooden coffee table", LIVING)],
    ),
    ("Grab the blue mug from the dining table.", [("blue mug", DINING, HOLD, None)]),
    ("Could you fetch the sponge from the hallway?", [("green sponge", HALL, HOLD, None)]),
    ("Move the tennis ball from the hallway to the toy basket", [("tennis ball", HALL, "toy basket", KIDS)]),
    ("carry the duck out of the kitchen into the toy box", [("yellow rubber duck", KITCHEN, "toy basket", KIDS)]),
    ("Take the book off the desk and leave it on the nightstand", [("blue book", KIDS, "nightstand", PARENTS)]),
    ("Drop the tea box in the hamper, it is on the counter", [("green tea box", KITCHEN, "laundry basket", PARENTS)]),
    ("deliver the cereal to the dinner table", [("yellow cereal box", None, "dining table", DINING)]),
    ("Would you mind putting the remote on the bookshelf?", [("black remote control", None, "bookshelf", LIVING)]),
    ("I'd like the teddy bear on the desk please", [("teddy bear", None, "desk", KIDS)]),
    ("The rubber duck belongs in the toy basket.", [("yellow rubber duck", None, "toy basket", KIDS)]),
    ("The sponge needs to be on the kitchen counter", [("green sponge", None, "kitchen counter", KITCHEN)]),
    (
        "hey robot, quickly go get the coke from the kitchen and bring it to the coffee table, thanks!",
        [("red coke can", KITCHEN, "wooden coffee table", LIVING)],
    ),
    (
        "There's a coffee mug on the nightstand. Take it to the kitchen counter.",
        [("blue mug", PARENTS, "kitchen counter", KITCHEN)],
    ),
    (
        "The pepsi can is in the corridor; throw it into the kitchen bin.",
        [("blue soda can", HALL, "kitchen bin", KITCHEN)],
    ),
    (
        "In the kids' room, pick up the block and drop it in the toy box",
        [("orange toy block", KIDS, "toy basket", KIDS)],
    ),
    (
        "Retrieve the tennis ball that is lying on the floor in the hallway, then set it down on the desk.",
        [("tennis ball", HALL, "desk", KIDS)],
    ),
    (
        "Transfer the green tea box from the worktop onto the shelf in the living room",
        [("green tea box", KITCHEN, "bookshelf", LIVING)],
    ),
    ("relocate the blue book, from the bedroom, to the desk", [("blue book", PARENTS, "desk", KIDS)]),
    (
        "Put the red can that's on the dining table on the coffee table",
        [("red coke can", DINING, "wooden coffee table", LIVING)],
    ),
    ("Please place the orange in the waste basket.", [("orange", None, "waste basket", LIVING)]),
    ("toss the orange toy block in the toy basket", [("orange toy block", None, "toy basket", KIDS)]),
    ("stick the remote control on the nightstand", [("black remote control", None, "nightstand", PARENTS)]),
    ("Bring the coke can over to the dining room table", [("red coke can", None, "dining table", DINING)]),
    ("Return the cereal box to the kitchen", [("yellow cereal box", None, "kitchen counter", KITCHEN)]),
    # the floor
    ("leave the ball on the floor of the hallway", [("tennis ball", None, "floor", HALL)]),
    ("Set the teddy bear down on the living room floor", [("teddy bear", None, "floor", LIVING)]),
    (
        "take the duck from the desk and put it on the floor next to the laundry basket",
        [("yellow rubber duck", KIDS, "floor", PARENTS)],
    ),
    ("Place the red can on the ground in the dining area", [("red coke can", None, "floor", DINING)]),
    ("put the ball next to the toy basket", [("tennis ball", None, "floor", KIDS)]),
    ("drop the mug beside the sofa", [("blue mug", None, "floor", LIVING)]),
    ("bring the sponge to the hallway", [("green sponge", None, "floor", HALL)]),
    (
        "Put the sponge that is in the kitchen on the counter in the kitchen",
        [("green sponge", KITCHEN, "kitchen counter", KITCHEN)],
    ),
    ("Pick the apple that is red and put it onto the desk", [("red apple", None, "desk", KIDS)]),
    (
        "I left my book on the dining table, please bring it to the nightstand",
        [("blue book", DINING, "nightstand", PARENTS)],
    ),
    ("Transport cereal: kitchen counter -> dining table", [("yellow cereal box", KITCHEN, "dining table", DINING)]),
    (
        "First the mug, then the book: put both on the desk",
        [("blue mug", None, "desk", KIDS), ("blue book", None, "desk", KIDS)],
    ),
    (
        "the coke can in the kitchen, please bring it to the table in the living room",
        [("red coke can", KITCHEN, "wooden coffee table", LIVING)],
    ),
    # waste
    ("throw the remote out", [("black remote control", None, "kitchen bin", KITCHEN)]),
    ("Throw away the coke can", [("red coke can", None, "kitchen bin", KITCHEN)]),
    ("Trash the cereal box.", [("yellow cereal box", None, "kitchen bin", KITCHEN)]),
    ("get rid of the green apple in the living room", [("green apple", LIVING, "waste basket", LIVING)]),
    ("dispose of the tea box from the kitchen", [("green tea box", KITCHEN, "kitchen bin", KITCHEN)]),
    ("Please discard the pepsi can", [("blue soda can", None, "kitchen bin", KITCHEN)]),
    # several objects
    (
        "bring the red apple and the blue mug from the kitchen to the dining table",
        [("red apple", KITCHEN, "dining table", DINING), ("blue mug", KITCHEN, "dining table", DINING)],
    ),
    (
        "Put the duck in the toy basket and the sponge on the counter.",
        [("yellow rubber duck", None, "toy basket", KIDS), ("green sponge", None, "kitchen counter", KITCHEN)],
    ),
    (
        "First take the book to the desk, then take the remote to the coffee table.",
        [("blue book", None, "desk", KIDS), ("black remote control", None, "wooden coffee table", LIVING)],
    ),
    (
        "Carry the coke can, the tea box and the cereal box to the kitchen counter",
        [
            ("red coke can", None, "kitchen counter", KITCHEN),
            ("green tea box", None, "kitchen counter", KITCHEN),
            ("yellow cereal box", None, "kitchen counter", KITCHEN),
        ],
    ),
    (
        "Grab the ball from the hallway and the duck from the kitchen and put them both in the toy basket",
        [("tennis ball", HALL, "toy basket", KIDS), ("yellow rubber duck", KITCHEN, "toy basket", KIDS)],
    ),
    (
        "bring both apples from the dining table to the kitchen counter",
        [("red apple", DINING, "kitchen counter", KITCHEN), ("green apple", DINING, "kitchen counter", KITCHEN)],
    ),
    (
        "Take the orange from the coffee table to the hallway and put it on the floor there.",
        [("orange", LIVING, "floor", HALL)],
    ),
    (
        "Before you take the mug to the counter, put the orange on the dining table.",
        [("orange", None, "dining table", DINING), ("blue mug", None, "kitchen counter", KITCHEN)],
    ),
    (
        "Put the book on the shelf after you have put the ball in the toy box",
        [("tennis ball", None, "toy basket", KIDS), ("blue book", None, "bookshelf", LIVING)],
    ),
    (
        "From the kitchen, bring the coke can to the coffee table and the sponge to the desk",
        [("red coke can", KITCHEN, "wooden coffee table", LIVING), ("green sponge", KITCHEN, "desk", KIDS)],
    ),
    (
        "take the sponge from the counter to the dining table; afterwards take the book from the desk to the shelf",
        [("green sponge", KITCHEN, "dining table", DINING), ("blue book", KIDS, "bookshelf", LIVING)],
    ),
    (
        "pick up the remote in the living room as well as the book in the hallway and drop them on the nightstand",
        [("black remote control", LIVING, "nightstand", PARENTS), ("blue book", HALL, "nightstand", PARENTS)],
    ),
    # where to drive is said apart
    (
        "Go to the kitchen, pick up the sponge, drive to the master bedroom and place it on the bedside table.",
        [("green sponge", KITCHEN, "nightstand", PARENTS)],
    ),
    (
        "head over to the corridor and collect the ball there, then come to the kids' room, drop it in the toy basket",
        [("tennis ball", HALL, "toy basket", KIDS)],
    ),
    # other words for the same things
    (
        "Move the can of coke from the dining room to the lounge's coffee table",
        [("red coke can", DINING, "wooden coffee table", LIVING)],
    ),
    ("put the stuffed bear in the children's room on the writing desk", [("teddy bear", KIDS, "desk", KIDS)]),
    (
        "carry the box of tea into the sitting room and put it on the coffee table",
        [("green tea box", None, "wooden coffee table", LIVING)],
    ),
    ("put the cup of coffee on the counter", [("blue mug", None, "kitchen counter", KITCHEN)]),
    ("Move the shiny red can to the big wooden coffee table", [("red coke can", None, "wooden coffee table", LIVING)]),
    # typing and shouting
    (
        "PICK UP THE RED COKE CAN IN THE KITCHEN AND PUT IT ON THE COFFEE TABLE",
        [("red coke can", KITCHEN, "wooden coffee table", LIVING)],
    ),
    ("bring teh spnge to the cofee table", [("green sponge", None, "wooden coffee table", LIVING)]),
    ("red coke can → coffee table", [("red coke can", None, "wooden coffee table", LIVING)]),
    ("coke can from the kitchen to the nightstand pls", [("red coke can", KITCHEN, "nightstand", PARENTS)]),
    ("put the   duck,in the toy   basket!!!", [("yellow rubber duck", None, "toy basket", KIDS)]),
    # excluded things
    ("bring the red apple, not the green apple, to the desk", [("red apple", None, "desk", KIDS)]),
    (
        "Don't touch the mug. Put the sponge on the counter.",
        [("green sponge", None, "kitchen counter", KITCHEN)],
    ),
    ("put the book on the desk instead of the nightstand", [("blue book", None, "desk", KIDS)]),
    ("leave the mug where it is and take the book to the desk", [("blue book", None, "desk", KIDS)]),
    # passive and wishes
    ("the ball should be moved from the kitchen to the toy basket", [("tennis ball", KITCHEN, "toy basket", KIDS)]),
    ("I want you to bring the book to the bedroom nightstand", [("blue book", None, "nightstand", PARENTS)]),
    ("we need the blue mug on the dining table", [("blue mug", None, "dining table", DINING)]),
    ("make sure the duck ends up in the toy basket", [("yellow rubber duck", None, "toy basket", KIDS)]),
    (
        "The sponge goes on the counter and the book goes on the desk.",
        [("green sponge", None, "kitchen counter", KITCHEN), ("blue book", None, "desk", KIDS)],
    ),
    (
        "it would be great if the remote could be put back on the coffee table",
        [("black remote control", None, "wooden coffee table", LIVING)],
    ),
    ("Lift the teddy bear.", [("teddy bear", None, HOLD, None)]),
    ("hold the tennis ball", [("tennis ball", None, HOLD, None)]),
    ("take the ball to the kids' room and drop it there on the desk", [("tennis ball", None, "desk", KIDS)]),
    ("put the sponge away in the laundry basket", [("green sponge", None, "laundry basket", PARENTS)]),
]


def ok(name, arguments):
    base = {"ok": True, "success": True, "error_code": "NONE", "reason": "done"}
    return {**base, "held_object_height_m": 0.1} if name == "pick" else base


@pytest.mark.parametrize(("sentence", "expected"), SENTENCES, ids=lambda v: None)
def test_sentence(orchestrator, home, sentence, expected):
    talk = orchestrator(sentence)
    report = talk.run(ok)
    assert not talk.made("ask_person"), "nothing is open in this sentence"
    wanted = []
    for thing, area, target, target_area in expected:
        wanted.append(("fetch", area or home["areas"][0]["name"], thing))
        if target is not None:
            wanted.append(("put", target_area, target, thing))
    assert deliveries(talk) == wanted
    assert report.arguments["success"] is True
    assert [row["object_name"] for row in report.arguments["objects"]] == [thing for thing, *_ in expected]


def deliveries(talk):
    """What was carried: each pick with the area that was approached before it, each place likewise."""
    found, approached = [], None
    for name, arguments in talk.made("approach", "pick", "place"):
        if name == "approach":
            approached = arguments
        elif name == "pick":
            assert approached["next_action"] == "pick"
            assert approached["object_name"] == arguments["object_name"]
            found.append(("fetch", approached["target_area"], arguments["object_name"]))
        else:
            assert approached["object_name"] == arguments["target_location"]
            found.append(("put", approached["target_area"], arguments["target_location"], arguments["object_name"]))
    return found
