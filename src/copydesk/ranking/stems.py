"""Stems of English words for comparing titles, with the synonyms and places that news use for one another.

Stems only compare titles of a few days, so that one stem for two words does little harm. Words of other languages keep
their form, unless an English suffix fits.
"""

import re
from functools import lru_cache
from sys import intern

from copydesk.ranking.tokens import remove_separators

_SYNONYMS = """
    die dies died dead death deaths kill kills killed killing killings fatal fatally
    oust ousts ousted remove removes removed sack sacks sacked fire fires fired dismiss dismisses dismissed
    oust impeach impeached impeaches
    quake earthquake tremor magnitude
    arrest arrests arrested detain detains detained nab captured captures capture caught
    jail jails jailed imprison imprisoned sentence sentenced sentences
    buy buys bought acquire acquires acquired acquisition purchase takeover
    cut cuts cutting slash slashes shed reduce reduces
    job jobs staff workers workforce layoffs redundancies
    ban bans banned bar bars barred prohibit
    hurt injured injures injuries wounded wounds
    blaze wildfire wildfires flames
    firm company group
    plane aircraft jet airliner
    ship boat vessel ferry tanker
    rate rates
    strike walkout
    name names named appoint appoints appointed pick picks
    boss chief head ceo executive leader
    judge judges court courts justices
    vote votes voted voting ballot
    approve approves approved pass passes passed adopt backs backed
    reject rejects rejected
    release released releases unveil unveils unveiled launch launches launched ships
    talk talks negotiation negotiations
    minister ministers
    outage blackout
    price prices
    film movie
    phone phones smartphone smartphones
    soccer football
    win wins won victory beat beats beaten
    recall recalls recalled
    rescue rescued rescuers saved
    prime pm
    thwarted alleged
    attack attacks plot
    end ends ended ending
    close closes closed closure shut shuts shutdown
    nears approaches looms
    us america american americans usa washington
    uk britain british
    eu brussels
    russia russian russians moscow kremlin
    ukraine ukrainian ukrainians kyiv kiev
    iran iranian iranians tehran
    israel israeli israelis
    china chinese beijing
    france french
    germany german germans berlin
    spain spanish
    italy italian
    japan japanese tokyo
    india indian delhi
    peru peruvian
    chile chilean santiago
    turkey turkish
    greece greek
    sweden swedish stockholm
    norway norwegian norwegians
    netherlands dutch
    portugal portuguese
    switzerland swiss
    austria austrian
    australia australian australians
    canada canadian
    brazil brazilian
    mexico mexican
    ireland irish
    hungary hungarian budapest
    poland polish
    syria syrian
    kenya kenyan nairobi
    finland finnish helsinki
    denmark danish copenhagen
    belgium belgian
    egypt egyptian cairo
    korea korean seoul
    thailand thai bangkok
    vietnam vietnamese hanoi
    pakistan pakistani islamabad
    iraq iraqi baghdad
    scotland scottish
    cuba cuban havana
    venezuela venezuelan caracas
    argentina argentine argentinian
    philippines philippine filipino manila
    morocco moroccan
"""
"""Words that tell the same in a title, one group a line; the first word stands for all."""
_NUMBERS = """
    one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
    nineteen twenty
"""
# Of a word in two groups the first counts.
_STEMS = {word: line.split()[0] for line in reversed(_SYNONYMS.strip().splitlines()) for word in line.split()}
_STEMS |= {word: str(number) for number, word in enumerate(_NUMBERS.split(), 1)}
_SUFFIXES = {
    "s": ("ments", "ings", "ions", "ies", "ers", "es", "s"),
    "t": ("ment",),
    "g": ("ing",),
    "n": ("ion",),
    "d": ("ed",),
    "r": ("er",),
    "y": ("ly", "y"),
    "e": ("e",),
}
"""By their last letters; of each the longest that fits is removed."""
_MIN_STEM_LENGTH, _MAX_STEM_LENGTH = 3, 7
_UNIT = re.compile(r"(\d+(?:\.\d+)?)(?:bn|tn|mn|m|k|km|cm|gb|mb|th|st|nd|rd|c|f)")


# The most frequent words: to hold all words of 200 feeds takes 5 MB, and saves next to nothing.
@lru_cache(maxsize=4_096)
def stem(word: str) -> str:
    """Return the stem of a word of `split_words`; words of one stem are taken for the same."""
    # Interned: an index holds the words of tens of thousands of titles.
    return intern(_stem(word))


def _stem(word: str) -> str:
    if not word.isalnum():
        word = remove_separators(word)
    if word in _STEMS:
        return _STEMS[word]
    if word[:1].isdigit():
        unit = _UNIT.fullmatch(word)
        return unit[1] if unit else word
    if len(word) == 4 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    if len(word) <= 4 or not word.isascii() or not word.isalpha():
        return word
    # Nigerian, Tunisian, Slovenian.
    if word.endswith("ian"):
        return word[:-1][:_MAX_STEM_LENGTH]
    for suffix in _SUFFIXES.get(word[-1], ()):
        if word.endswith(suffix) and len(word) - len(suffix) >= _MIN_STEM_LENGTH:
            word = word[: -len(suffix)]
            break
    return word[:_MAX_STEM_LENGTH]


def stem_set(words: str) -> frozenset[str]:
    """Return the stems of words separated by spaces."""
    return frozenset(map(stem, words.split()))


GENERIC_STEMS = stem_set("""
    man woman people police first day week month year today one two three four five six seven eight nine ten million
    billion thousand world country city state government minister president chief new big top old report officials told
    tell make makes take takes get gets go goes set part over out down up back may still next last against between
    including former year-old early late time long many far off while during since because around most talk meet visit
    leader party group work home comment comments point points article submitted link read post
    monday tuesday wednesday thursday friday saturday sunday january february march april
    may june july august september october november december
""") - set(map(str, range(3, 11)))
"""Words that say little about an event."""
FREQUENT_STEMS = stem_set("""
    us uk eu un russia ukraine iran israel china europe european trump putin gaza france germany india
    talk peace war deal nuclear round support claim state islamic prime pm ties alleged plan
""")
"""Names and words that so many events of one week share that they do not tell one from another."""
COMMON_STEMS = GENERIC_STEMS | stem_set("""
    gunman earthquake train court police man woman storm wildfire ferry bus car plane heatwave drone singer author
    actor bird villager astronomer diver soldier student teacher teen boy girl mother father judge jury parliament
    senate house truck tanker meteorite landslide flood fire blackout power outage heavy massive strong ancient old
    new giant tribute rescuer search shooting explosion blast bomb suicide avalanche typhoon hurricane cyclone volcano
    passenger former ex early late deadly record bank company firm researcher scientist doctor patient factory ceasefire
    critical major minor stock market fatal hacker attacker thief ten two three chess swimmer tennis football
    ultra book watch live photo weekly free here how why what civil lower second third low high
""")
"""Words that are no name where a title begins with them."""
