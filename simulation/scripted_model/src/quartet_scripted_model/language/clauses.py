"""A sentence cut into clauses: a verb, what it acts on, and the groups that say from where and to where."""

from dataclasses import dataclass, field

from quartet_scripted_model.language.lexicon import (
    COLOURS,
    DESTINATION,
    FILLERS,
    IGNORED_GROUP,
    JOINS,
    NEGATIONS,
    NOUN_TOO,
    PARTICIPLES,
    PLACE_AT,
    PREPOSITIONS,
    PRONOUNS,
    SAME,
    STOPS,
    TOO,
    UNWANTED,
    VERBS,
    Verb,
)
from quartet_scripted_model.language.tokens import tokens
from quartet_scripted_model.language.vocabulary import Kind, Spotted, Token, Vocabulary

Phrase = list[Token]
_ARTICLES = frozenset({"the", "a", "an", "my", "our", "your", "this", "that", "its", "their"})


@dataclass
class Group:
    """A preposition and its noun phrases."""

    prep: str
    phrases: list[Phrase] = field(default_factory=list)
    follows: bool = False
    """It stands behind what the clause acts on."""


@dataclass
class Clause:
    """`lead` are the groups before the verb, `subjects` the noun phrases before it."""

    verb: Verb | None = None
    word: str = ""
    subjects: list[Phrase] = field(default_factory=list)
    objects: list[Phrase] = field(default_factory=list)
    lead: list[Group] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    particles: set[str] = field(default_factory=set)
    negated: bool = False
    unwanted: bool = False
    """It says that nobody wants a thing where it is, or any more."""
    gapped: bool = False
    """Continues the clause before it with that clause's verb."""
    led: bool = False
    """It begins with a group: "on the shelf: the book"."""
    too: bool = False
    """It names what is to go where the thing before it goes: "and the cup as well"."""
    wanted: bool = False
    """The verb says how things ought to be ("should be placed")."""

    @property
    def led_to(self) -> list[Phrase]:
        """The noun phrases behind the groups of a clause without a verb: "on the shelf, please: the book"."""
        return [p for group in self.lead for p in group.phrases[1:]] if self.led and self.verb is None else []

    @property
    def empty(self) -> bool:
        """Whether the clause has neither verb nor phrases."""
        return self.verb is None and not (self.subjects or self.objects or self.lead or self.groups)


def clauses(sentence: str, vocabulary: Vocabulary) -> list[Clause]:
    """Return the clauses of `sentence`, in the order in which they are to be done."""
    spotted = vocabulary.spot(_colours_first(tokens(sentence)))
    # "can of coke" may only now be a name: "coke can".
    turned = [w for t in _of(_placed(spotted)) for w in (t.words if isinstance(t, Spotted) else (t,))]
    return _Reader(vocabulary.spot(turned)).read()


def _colours_first(words: list[str]) -> list[str]:
    """Turn "the apple that is red" into "the red apple"."""
    out: list[str] = []
    i = 0
    while i < len(words):
        if (
            words[i] in {"that", "which"}
            and words[i + 1 : i + 2] == ["is"]
            and words[i + 2 : i + 3]
            and (words[i + 2] in COLOURS and out)
        ):
            out.insert(len(out) - 1, words[i + 2])
            i += 3
            continue
        out.append(words[i])
        i += 1
    return out


def _placed(words: list[Token]) -> list[Token]:
    """Turn "the can that is standing on the table" into "the can on the table"."""
    out: list[Token] = []
    i = 0
    while i < len(words):
        end = i
        if words[i : i + 2] in (["that", "is"], ["which", "is"]):
            end += 2
        if words[end : end + 1] and words[end] in PARTICIPLES:
            end += 1
        if end > i and out and _noun(out[-1]) and end < len(words) and words[end] in PLACE_AT:
            i = end
        out.append(words[i])
        i += 1
    return out


def _of(words: list[Token]) -> list[Token]:
    """Turn "can of coke" into "coke can": two nouns joined by "of" name one thing."""
    out: list[Token] = []
    i = 0
    while i < len(words):
        if words[i] == "of" and out and i + 1 < len(words):
            tail = i + 1
            while tail < len(words) and words[tail] in _ARTICLES:
                tail += 1
            if tail < len(words) and _where(words[tail]):
                out.append("in")
                i += 1
                continue
            if tail < len(words) and _noun(words[tail]) and _noun(out[-1]):
                head = out.pop()
                out += [words[tail], head]
                i = tail + 1
                continue
        out.append(words[i])
        i += 1
    return out


def _noun(token: Token) -> bool:
    return isinstance(token, Spotted) or token not in FILLERS | PREPOSITIONS | JOINS | STOPS | PRONOUNS


def _where(token: Token) -> bool:
    return isinstance(token, Spotted) and token.things[0].kind is not Kind.OBJECT


class _Reader:
    """Read the tokens from left to right, one clause at a time."""

    def __init__(self, words: list[Token]) -> None:
        self.words = words
        self.done: list[Clause] = []
        self.clause = Clause()
        self.phrase: Phrase = []
        self.group: Group | None = None
        self.skip = False
        """The noun phrase being read is one that was excluded ("not the cup")."""
        self.swap = False
        """The clause being read is to be done before the one that is finished ("after you ...")."""
        self.defer = False
        """The clause being read is to be done after the next one ("before you ...")."""
        self.joined = False
        self.articled = False
        self.before = ""
        """The word before the one being read."""

    def read(self) -> list[Clause]:
        for token in self.words:
            if isinstance(token, Spotted):
                self.phrase.append(token)
            else:
                self._word(token)
                self.articled, self.before = token in _ARTICLES, token
                continue
            self.articled, self.before = False, ""
        self._end_clause()
        return [c for c in self.done if not c.empty]

    def _word(self, word: str) -> None:
        if self._structural(word):
            return
        if word in TOO:
            self._too(word)
            return
        if self._is_verb(word):
            self._verb(word)
        elif word == "with" and self._directed():
            # "Into the bin with it": what is to go there comes now.
            self._end_phrase()
            self.group = None
        elif word in PREPOSITIONS:
            self._end_phrase()
            self.skip = word in IGNORED_GROUP
            self._start_group(word)
        elif word in {"down", "away", "out", "here", "back", "respectively"}:
            self.clause.particles.add(word)
        elif word in PRONOUNS:
            self.phrase.append(word)
        elif word in _ARTICLES and self.phrase:
            # A new noun phrase without a join: "give me the can".
            self._end_phrase()
        elif word not in FILLERS:
            self.phrase.append(word)

    def _structural(self, word: str) -> bool:
        """Take a word that orders, negates, ends or joins; return whether it was one."""
        if word in {"before", "after"}:
            self._order(word)
        elif word in NEGATIONS:
            self._end_phrase()
            if word == "not":
                self.skip = True
            else:
                self._end_clause()
                self.clause.negated = True
                self.clause.unwanted = word in UNWANTED
        elif word in UNWANTED:
            self._end_phrase()
            self.clause.unwanted = self.clause.negated
            self._end_clause()
        elif word == "alone":
            # "leave the mug where it is"
            self.clause.negated = True
        elif word in STOPS:
            self._end_clause()
        elif word in JOINS:
            self._end_phrase()
            # "robot, take ...": nothing comes before that could be joined.
            self.joined = not self.clause.empty
        else:
            return False
        return True

    def _too(self, word: str) -> None:
        """Take "as well" behind what also goes there, or "do the same with" before it."""
        self._end_phrase()
        if word == SAME:
            self._end_clause()
            self.clause.too = True
            return
        clause = self.clause
        if self.joined and self.group and len(self.group.phrases) > 1 and not _where(self.group.phrases[-1][-1]):
            fresh = self.group.phrases.pop()
            self._end_clause()
            self.clause.subjects.append(fresh)
        elif clause.verb is not None and not clause.gapped:
            return
        self.clause.too = True

    def _is_verb(self, word: str) -> bool:
        if word not in VERBS:
            return False
        noun_here = self.articled or bool(self.phrase) or self._group_open()
        if word in NOUN_TOO and noun_here:
            return False
        return not (self.articled and VERBS[word] not in {Verb.STATE, Verb.WANT})

    def _directed(self) -> bool:
        """Whether the clause has no verb and nothing but a group that says to where."""
        clause = self.clause
        return clause.verb is None and not clause.subjects and bool(clause.lead) and clause.lead[0].prep in DESTINATION

    def _group_open(self) -> bool:
        return self.group is not None and not self.group.phrases and not self.phrase

    def _verb(self, word: str) -> None:
        kind = VERBS[word]
        self._end_phrase()
        current = self.clause.verb
        wants = kind is Verb.WANT
        if kind is Verb.STATE and current is None and self._relative():
            return  # "the can that is on the table, to the desk"
        if current is None:
            self._part_subjects()
        elif current in {Verb.WANT, Verb.STATE} and not self.clause.groups and not (wants or kind is Verb.STATE):
            # "should be placed", "needs to be moved", "I want you to bring": the real verb comes now.
            self.clause.wanted = self.clause.wanted or current is Verb.WANT
            if self.clause.objects and not self.clause.subjects:
                self.clause.subjects, self.clause.objects = self.clause.objects, []
        elif current is Verb.WANT and kind is Verb.STATE and not self.clause.groups:
            return
        elif current is Verb.GO and not self.clause.groups and not wants and kind is not Verb.STATE:
            pass  # "go get"
        elif kind in {Verb.STATE, Verb.WANT} and self._relative():
            return  # "the can that is on the table"
        else:
            moved = self._take_last_phrase() if kind in {Verb.STATE, Verb.WANT} else None
            self._end_clause()
            if moved:
                self.clause.subjects.append(moved)
        self.clause.verb, self.clause.word = kind, word
        self.group = None
        self.skip = False

    def _relative(self) -> bool:
        """Whether a form of "be" continues the noun phrase before it."""
        if self.before in {"that", "which"} and not self.clause.lead and (self.clause.subjects or self.clause.objects):
            return True
        return not self.joined and self.clause.verb not in {None, Verb.STATE}

    def _take_last_phrase(self) -> Phrase | None:
        if self.joined and self.group and len(self.group.phrases) > 1:
            return self.group.phrases.pop()
        return None

    def _start_group(self, prep: str) -> None:
        self._part_subjects()
        if self.joined and self.clause.verb is not None and self._gap(prep):
            return
        self.group = Group(prep, follows=bool(self.clause.subjects or self.clause.objects))
        self.clause.led = self.clause.led or self.clause.empty
        (self.clause.groups if self.clause.verb is not None else self.clause.lead).append(self.group)

    def _part_subjects(self) -> None:
        """Begin a clause with the second subject: "the cup on the desk and the book should go to the hallway"."""
        clause, last = self.clause, self.group
        if clause.verb is not None or clause.led or not self.joined or last is None or len(last.phrases) < 2:
            return
        if clause.subjects and not _where(last.phrases[-1][-1]):
            fresh = last.phrases.pop()
            self._end_clause()
            self.clause.subjects.append(fresh)

    def _gap(self, prep: str) -> bool:
        """Begin a clause with the same verb: "the apple in the bowl and the banana in the basket"."""
        last = self.group
        if last is None or len(last.phrases) < 2 or prep == "of" or _where(last.phrases[-1][-1]):
            return False
        fresh = last.phrases.pop()
        before = self.clause
        self._end_clause()
        self.clause = Clause(verb=before.verb, word=before.word, objects=[fresh], gapped=True, negated=before.negated)
        self.group = Group(prep)
        self.clause.groups.append(self.group)
        return True

    def _order(self, word: str) -> None:
        self._end_clause()
        started = bool(self.done)
        if word == "after":
            self.swap = started
        else:
            self.defer = not started

    def _end_phrase(self) -> None:
        phrase, self.phrase = self.phrase, []
        skip, self.skip = self.skip, False
        if not phrase or skip:
            return
        if self.group is not None:
            self.group.phrases.append(phrase)
        elif self.clause.verb is not None:
            self.clause.objects.append(phrase)
        else:
            self.clause.subjects.append(phrase)

    def _end_clause(self) -> None:
        self._end_phrase()
        clause, self.clause = self.clause, Clause()
        self.group, self.joined, self.skip = None, False, False
        if clause.empty:
            self.clause.negated, self.clause.unwanted = clause.negated, clause.unwanted
            return
        if self.swap and self.done:
            self.done.insert(len(self.done) - 1, clause)
            self.swap = False
        elif self.defer and self.done:
            self.done.insert(len(self.done) - 1, clause)
            self.defer = False
        else:
            self.done.append(clause)
