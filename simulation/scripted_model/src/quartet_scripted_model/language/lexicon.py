"""General English: verbs, prepositions, fillers and synonyms. Nothing here names a thing of any one site."""

from enum import StrEnum


class Verb(StrEnum):
    """Kinds of verbs."""

    FETCH = "fetch"
    """Take hold of something: pick up, grab."""
    CARRY = "carry"
    """Take something somewhere: bring, move."""
    PUT = "put"
    """Put something down somewhere: put, drop."""
    TRASH = "trash"
    """Put something where waste goes."""
    GO = "go"
    """Drive somewhere."""
    STATE = "state"
    """Says where something is."""
    WANT = "want"
    """Says where something ought to be."""


def _words(text: str) -> list[str]:
    return text.split()


def _forms(kind: Verb, *lemmas: str) -> dict[str, Verb]:
    """Base form, third person, gerund and past of regular verbs; doubled consonants included."""
    forms: dict[str, Verb] = {}
    for lemma in lemmas:
        stem = lemma[:-1] if lemma.endswith("e") else lemma
        for form in (lemma, lemma + "s", lemma + "es", stem + "ing", stem + "ed", lemma + lemma[-1] + "ing"):
            forms[form] = kind
        forms[lemma + lemma[-1] + "ed"] = kind
    return forms


VERBS: dict[str, Verb] = {
    **_forms(
        Verb.FETCH,
        *_words("pick grab get fetch collect lift retrieve grasp seize snatch gather remove hold find locate obtain"),
    ),
    **dict.fromkeys(["got", "held", "found", "pickup", "holding"], Verb.FETCH),
    **_forms(
        Verb.CARRY,
        *_words("bring carry move transfer deliver transport relocate shift haul return send take convey hand pass"),
    ),
    **dict.fromkeys(["brought", "carried", "carries", "took", "taken", "sent"], Verb.CARRY),
    **_forms(
        Verb.PUT,
        *_words("put place drop leave set lay deposit toss throw dump stick position store stow stash release chuck"),
        *_words("rest load insert add park slide tuck pop plop fall clear stand"),
    ),
    **dict.fromkeys(["laid", "left", "thrown", "threw", "stuck"], Verb.PUT),
    **_forms(Verb.TRASH, *_words("discard trash bin dispose scrap recycle")),
    **_forms(Verb.GO, *_words("go drive navigate head walk travel proceed come roll")),
    **dict.fromkeys(["is", "are", "lies", "sits", "stands", "theres", "was"], Verb.STATE),
    **dict.fromkeys(["want", "wants", "need", "needs", "like", "belongs", "belong", "goes", "should"], Verb.WANT),
}

NOUN_TOO = frozenset(
    {"place", "places", "bin", "bins", "trash", "hand", "rest", "drop", "set", "stand", "head", "find"}
)
"""Verbs that are nouns when an article, an adjective or a preposition comes before them."""

PHRASES: dict[str, str] = {
    "look for": "find",
    "looking for": "find",
    "look around for": "find",
    "search for": "find",
    "searching for": "find",
    "hunt for": "find",
    "get rid of": "discard",
    "let go of": "release",
    "hang on to": "hold",
    "hold on to": "hold",
    "make sure": "",
    "see to it that": "",
    "ends up": "belongs",
    "end up": "belongs",
    "there is": "theres",
    "i left": "theres",
    "i have left": "theres",
    "i forgot": "theres",
    "i put": "theres",
    "we left": "theres",
    "someone left": "theres",
    "somebody left": "theres",
    "here is": "theres",
    "there are": "theres",
    "you will find": "theres",
    "youll find": "theres",
    "on top of": "on",
    "on to": "onto",
    "in to": "into",
    "over to": "to",
    "back to": "to",
    "off of": "off",
    "out of": "from",
    "out from": "from",
    "away from": "from",
    "next to": "nextto",
    "close to": "near",
    "in front of": "near",
    "together with": "and",
    "along with": "and",
    "as well as": "and",
    "followed by": "and",
    "and also": "and",
    "and then": "then",
    "after that": "then",
    "after this": "then",
    "once done": "then",
    "when done": "then",
    "once you have": "",
    "once you": "",
    "do not": "dont",
    "please do": "",
    "instead of": "not",
    "rather than": "not",
    "but not": "not",
    "where it is": "alone",
    "where they are": "alone",
    "where it stands": "alone",
    "in place": "alone",
    "where it belongs": "",
    "where they belong": "",
    "of course": "",
    "at once": "",
    "right now": "",
    "on the way": "",
    "what you are holding": "it",
    "what you hold": "it",
    "what you are carrying": "it",
    "what you have": "it",
    "what is in your gripper": "it",
    "what is in your hand": "it",
    "whatever you are holding": "it",
    "whatever you hold": "it",
    "thing you are holding": "thing",
    "object you are holding": "object",
    "held object": "object",
    "in your hand": "",
    "in its gripper": "",
    "in your gripper": "",
    "in the gripper": "",
    "with your gripper": "",
    "with the gripper": "",
    "with your arm": "",
    "to do": "",
    "over there": "",
    "one more thing": "",
    "one last thing": "",
    "one other thing": "",
    "do the same with": "likewise",
    "do the same for": "likewise",
    "do that with": "likewise",
    "as well": "too",
    "any more": "anymore",
    "any longer": "anymore",
    "no one": "nobody",
    "that is where i want": "want",
    "that is where i need": "need",
    "that is where i would like": "want",
    "lets have": "want",
    "let us have": "want",
    "coca cola": "coke",
    "a couple of": "two",
    "a pair of": "two",
    "pair of": "two",
}
"""Expressions of several words and what they are read as."""

SOURCE = frozenset({"from", "off"})
DESTINATION = frozenset({"to", "into", "onto", "towards", "toward"})
PLACE_AT = frozenset({"in", "on", "at", "inside", "within", "atop", "upon"})
NEAR = frozenset(
    {"nextto", "beside", "near", "by", "behind", "under", "underneath", "below", "alongside", "beneath", "against"}
)
IGNORED_GROUP = frozenset({"with", "using", "for", "because", "so", "without", "via"})
PREPOSITIONS = SOURCE | DESTINATION | PLACE_AT | NEAR | IGNORED_GROUP | {"of"}

PARTICIPLES = frozenset({"standing", "lying", "sitting", "located"})
"""How something is where it is."""
SAME = "likewise"
TOO = frozenset({SAME, "too"})
"""What goes where the thing before it goes."""
STOPS = frozenset({".", ";", "then", "afterwards", "afterward", "finally", "lastly", "subsequently", "next", "now"})
JOINS = frozenset({"and", ",", "&", "plus", "or", "also"})
PRONOUNS = frozenset(
    {"it", "them", "those", "these", "both", "each", "everything", "ones", "one", "thing", "object", "item"}
)
PERSONS = frozenset(
    {"me", "us", "him", "her", "mom", "mum", "dad", "grandma", "grandpa", "myself", "someone", "somebody"}
)
NEGATIONS = frozenset({"dont", "never", "not", "without", "nobody"})
UNWANTED = frozenset({"anymore", "nobody"})
"""With these, "I don't need the can anymore" and "nobody wants the can" name a thing and forbid nothing."""
MODALS = frozenset({"can", "could", "would", "will", "may", "might", "shall"})
MODAL_SUBJECTS = frozenset({"you", "u", "we", "i", "someone", "somebody", "robot", "they"})
AFTER_MODAL = frozenset({"go", "be", "stay", "stand", "come", "move"})
"""Behind "can" these tell that it is no can: "the cup can go in the basket"."""
NOT_BEFORE_MODAL = frozenset({".", ",", "the", "a", "this", "that", "my", "our", "your", "and"})
"""Behind these "can" is a noun: "let the can go"."""
PLURAL = frozenset({"both", "all", "two", "three", "four", "every", "each"})

FILLERS = frozenset(
    _words(
        """please kindly hey hi hello ok okay robot quartet dear just quickly carefully gently slowly immediately again
    be been being to-be i you we u your youll id ill lets let would could will shall may might must have has had
    me-too so that which who there currently located standing lying sitting placed-on first firstly second secondly
    third now soon away up back over through go-ahead and-or very really still thanks thank cheers mate buddy
    wondering if mind able help need-to supposed might-as see seen find-there for-me once when while as well
    another other same nearest closest right left-hand certain particular put-away safely straight directly all
    its his their the a an my our this some any do does did teh da pls plz great awesome glad happy grateful
    appreciate love kind hurry asap urgent sir"""
    )
)
"""Words that carry nothing here."""

GENERIC = frozenset(
    _words(
        """big small large little tiny huge tall short old new shiny nice lovely fresh empty full metal metallic
    aluminium aluminum tin plastic glass paper cardboard ceramic steel cute dirty clean wooden wood round square
    long low high lonely single good favourite favorite solid soft hard whole half cold warm hot ripe juicy
    delicious tasty kids childs toy other"""
    )
)
"""Adjectives that may be said of a thing without being part of its name."""

ROOMS_AND_THINGS = frozenset(
    _words(
        """garage garden bathroom balcony basement attic office toilet pantry cellar terrace patio closet studio porch
    yard shed library stairs stove sink laptop phone tablet glass plate fork knife spoon chair lamp window door wall
    bed couch carpet mirror piano guitar camera pencil paper towel shirt shoes socks jacket onion potato tomato lemon
    peach grape mango carrot bread butter cheese water juice coffee sugar honey pepper cookie candle battery charger
    wallet money bottle flower plant vase clock fridge oven stool bench drawer cabinet closet"""
    )
)
"""Words that are what they are, however near the spelling of one of the site's names is."""

COLOURS = frozenset(
    _words(
        """red green blue yellow orange purple violet pink brown black white grey gray silver gold golden beige cyan
    turquoise magenta teal maroon navy cream tan"""
    )
)

SYNONYMS: tuple[tuple[str, ...], ...] = (
    ("sofa", "couch", "settee"),
    ("trash", "garbage", "rubbish", "waste", "refuse", "litter"),
    ("trash bin", "trash can", "garbage can", "dustbin", "wastebasket", "waste basket", "waste paper basket"),
    ("bin", "trash can", "garbage can", "dustbin", "rubbish bin", "trash bin", "waste bin", "garbage bin", "trash"),
    ("coke", "cola", "coca cola", "coke soda"),
    ("coke can", "soda can", "coke", "cola", "cola can"),
    ("can", "tin"),
    ("cup", "mug"),
    ("living room", "lounge", "sitting room", "front room", "family room", "parlour"),
    ("dining area", "dining room", "dining corner", "eating area"),
    ("hallway", "corridor", "hall", "entryway", "passage", "entrance hall"),
    ("parents bedroom", "master bedroom", "main bedroom", "parents room", "adult bedroom"),
    (
        "kids room",
        "childrens room",
        "kids bedroom",
        "childrens bedroom",
        "nursery",
        "playroom",
        "child room",
        "kid room",
    ),
    ("nightstand", "bedside table", "night table", "night stand", "bedside cabinet"),
    ("counter", "worktop", "countertop", "counter top", "work surface"),
    ("shelf", "shelves", "bookshelf", "bookcase", "shelving"),
    ("wooden", "wood", "timber"),
    ("coffee table", "sofa table", "low table", "lounge table"),
    ("laundry basket", "hamper", "laundry hamper"),
    ("teddy bear", "teddy", "stuffed bear", "plush bear"),
    ("box", "carton", "package", "pack", "packet"),
    ("bottle", "flask"),
    ("floor", "ground"),
    ("grey", "gray"),
    ("kitchen", "kitchenette"),
)
"""Classes of words that mean the same in a home; used only where a site's names have one of them."""
