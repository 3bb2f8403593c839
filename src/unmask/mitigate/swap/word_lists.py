"""Closed lists of English words used by the swapping rules."""

from __future__ import annotations

_CLOSED = """
    a an the this that these those some any each every both another
    i you he she it we they me him us them myself himself herself themselves who whom which what
    about above across after against along among around as at because before behind below beneath beside
    between beyond but by despite down during except for from if in inside into like near of off on onto out
    outside over past since than through throughout till to toward towards under until unless up upon when
    where whether while with within without and or nor so yet
    am is are was were be been being has have had having do does did can could will would shall should may
    might must
    again ago already also always anyway away back enough even ever here home instead just later maybe never
    not now often once perhaps quite rather really right sometimes soon still then there today together
    tomorrow tonight too twice very well yesterday
"""
_BETWEEN = """
    again already also always even ever just never not now often once perhaps quite rather really right still
    then there too very well back home past like near inside outside
"""
_LY = """
    family only early daily weekly monthly yearly lovely elderly friendly lonely lively ugly silly holy deadly
    costly likely unlikely motherly fatherly sisterly brotherly womanly manly belly bully jelly rally reply
    supply ally assembly butterfly curly orderly stately timely worldly
"""
_ED = "beloved aged wicked sacred naked red bed shed need seed deed breed feed weed speed creed greed hundred"
_PLACES = """
    Tech University River State City Beach County Street Island Islands College Bay Lake Park Square Road
    Avenue Bridge Airport Station Church Cathedral Hospital Hall House Mountain Mountains Valley Creek
"""
_PEOPLE = """
    person people man men woman women boy boys girl girls child children kid kids baby family families student
    students teacher teachers worker workers voter voters officer officers driver drivers patient patients
    neighbor neighbors community communities player players singer singers actor actors actress writer author
    american americans folks guy guys lady ladies gentleman teenager teenagers youth youths parents mother
    mothers father fathers couple couples customer customers
"""
_IDIOMS = """
    man-made|man-of-war|men-of-war|man-hour|man-hours|king-size|king-sized|queen-size|queen-sized
    |mother-of-pearl|mother tongue|mother tongues|mother nature|father christmas|old wives' tale
    |old wives' tales|prince charming|king cobra|king crab|king penguin|daddy longlegs
"""

CLOSED = frozenset(_CLOSED.split())  # words with which no noun phrase begins after a possessive
BETWEEN = frozenset(_BETWEEN.split())  # of those, words that may follow a possessive: "his then wife"
ED_ADJECTIVES = frozenset(_ED.split())  # adjectives, not past-tense verbs
LY_ADJECTIVES = frozenset(_LY.split())  # adjectives and nouns, not adverbs
PLACES = frozenset(_PLACES.split())  # after a name that is also a place name
PEOPLE = frozenset(_PEOPLE.split())  # nouns that make black and white refer to people
# in which a gendered word does not refer to a person
IDIOMS = tuple(idiom.strip() for idiom in _IDIOMS.split("|"))
EXACT_IDIOMS = ("the Lord", "Our Lady", "Oh man", "oh man", "Isle of Man", "Burning Man", "Virgin Mary")
