"""Words of the grammar. Nothing here names a thing of any one site."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


TAKE = _words("pick grab get fetch collect take lift grasp hold retrieve")
"""Verbs that may end with the object in the gripper."""
CARRY = _words("bring carry move transfer transport deliver relocate return find hand give")
PUT = _words("put place set leave drop lay throw toss dump chuck stand stick deposit clear")
VERBS = TAKE | CARRY | PUT
GO = _words("go drive navigate head travel move return come")
"""Verbs of driving, before "to"."""
WANT, STATE = "i-want", _words("is lies stands")
SHOULD, BOTH_SHOULD, SHOULD_BE = "should-go", "should-both-go", "should-be"
THERE_IS, ANY_MORE, YOU_HOLD = "there-is", "any-more", "you-hold"
HELD, IN_HAND = "what-you-hold", "in-your-hand"
THAT = "that-is"
"""A relative clause follows: where the object is."""

SOURCE, TARGET, AT = _words("from"), _words("to into onto"), _words("in on at inside")
PREPOSITIONS = SOURCE | TARGET | AT | {"of"}
DETERMINERS = _words("the a an my our")
FLOORS = frozenset({("floor",), ("ground",)})

_MEANINGS = {
    "please": "pls|thanks|thank you|for me|can you|could you|would you|will you|make sure|make sure that|"
    "i want you to|i would like you to|i need you to|we want you to|we need you to",
    "put": "would you mind putting",
    "bring": "would you mind bringing|get rid of",
    "move": "would you mind moving",
    "take": "would you mind taking",
    "find": "look for|search for",
    "next-to": "next to",
    "then": "after that|afterwards|next",
    "from": "off|off of|out of",
    "on": "on top of",
    "onto": "on to",
    "into": "away into",
    "to": "over to|moved to",
    WANT: "i want|we want|i need|we need|i would like|we would like|let us have",
    SHOULD: "should go|should stand|should lie|can go|goes|belongs|ends up|should be moved|should be brought|"
    "should be carried|should be put|should be placed",
    BOTH_SHOULD: "should both go|should both be moved",
    SHOULD_BE: "should be",
    THERE_IS: "there is|somebody left|someone left|i left|i cant reach|i cannot reach|i dont need|we dont need|"
    "nobody needs|nobody wants",
    ANY_MORE: "any more|anymore|any longer",
    "drop it": "let it fall",
    ":": "that is where i want",
    YOU_HOLD: "you are holding|you hold",
    HELD: "what you are holding|what you hold|the thing in your gripper",
    IN_HAND: "in your gripper|in your hand|in the gripper|that is in your gripper|that is in your hand",
    THAT: "that is|which is|standing|lying|that is standing|that is lying|that stands|that lies",
}
GREETINGS = ("hello", "hi", "hey", "okay", "ok", "robot", "tidy up", "one more thing")
"""Beginnings of a text that ask for nothing."""
PHRASES = {tuple(said.split()): meaning for meaning, all_said in _MEANINGS.items() for said in all_said.split("|")}
"""Expressions and the word of the grammar that stands for each."""

UNREADABLE = _words(
    """not no never dont doesnt cant cannot wont without except unless until till if when whenever while or either
    neither nor instead rather but only just all every each any some another other others same again twice half one two
    three four five six seven eight nine ten dozen several many few couple pair more most less enough second third last
    before after once as because so than who whose what which where is are was were be been how why he she him her his
    they their we us you your i its itself this that these those everything something anything nothing everyone nobody
    somebody someone wait stop start open close clean wash check look see back away out off over under behind between
    beside next near by above below around against along through via with for like during about across tomorrow today
    later now soon always maybe perhaps almost also too both first"""
)
"""Words with a meaning that no rule has: they are never part of a name that the site does not have."""
GRAMMAR = _words("and then it them me up down there , . :") | PREPOSITIONS | DETERMINERS | STATE
RESERVED = UNREADABLE | VERBS | GO | GRAMMAR | frozenset(_MEANINGS)
"""Words that end a name, unless the site has a name with them."""
