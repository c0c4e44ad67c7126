"""The words that decide about the meaning of an English sentence."""

import re

from copydesk.drafting.claims.language import (
    Language,
    parse_groups,
    parse_numbered,
    parse_numerals,
    parse_opposites,
    parse_synonyms,
    parse_words,
)

_SUFFIXES = re.compile(
    r"(?:ations?|ating|ated|ates?|ements?|ments?|ingly|edly|ings?|ions?|ers?|ed|ly|(?<=[sxzh])es|(?<![su])s)$"
)
_IRREGULAR = """
rise rose risen; fall fell fallen; grow grew grown; say said says; tell told; win won; lose lost; buy bought; sell sold
begin began begun; leave left; find found; hold held; keep kept; make made; pay paid; send sent; spend spent
take took taken; give gave given; go went gone; come came; become became; see saw seen; know knew known
think thought; build built; bring brought; fight fought; catch caught; teach taught; meet met; lead led; feed fed
run ran; write wrote written; drive drove driven; break broke broken; speak spoke spoken; steal stole stolen
choose chose chosen; freeze froze frozen; throw threw thrown; draw drew drawn; fly flew flown; show shown
sink sank sunk; drink drank drunk; sing sang sung; swim swam swum; ring rang rung; shrink shrank shrunk
withdraw withdrew withdrawn; eat ate eaten; forget forgot forgotten; get got gotten; lie lay lain; sleep slept
feel felt; mean meant; lend lent; bend bent; deal dealt; burn burnt; learn learnt; strike struck; stand stood
understand understood; shoot shot; seek sought; sit sat; wear wore worn; tear tore torn; bear bore born
man men; woman women; child children; foot feet; person people; die dying died; tie tying; big bigger biggest
bad worse worst; good better best; hide hid hidden; bite bit bitten; wake woke woken; hear heard; arise arose arisen
forbid forbade forbidden; overtake overtook overtaken; rebuild rebuilt; undergo underwent undergone
do done; high higher highest; low lower lowest; large larger largest; small smaller smallest; old older oldest
young younger youngest; fast faster fastest; slow slower slowest; cheap cheaper cheapest; warm warmer warmest
cold colder coldest; long longer longest; short shorter shortest; strong stronger strongest; weak weaker weakest
hot hotter hottest; bright brighter brightest; faint fainter faintest; near nearer nearest; close closer closest
early earlier earliest; late later latest; rich richer richest; poor poorer poorest; heavy heavier heaviest
light lighter lightest; wide wider widest; safe safer safest; hard harder hardest; easy easier easiest
dark darker darkest; great greater greatest; few fewer fewest; quick quicker quickest; cool cooler coolest
analysis analyses; news news; owner owners; member members; number numbers; user users; paper papers; letter letters
server servers; winter winters; summer summers; driver drivers; order ordered orders ordering
offer offered offers offering; cover covered covers covering; suffer suffered suffers suffering; enter entered enters
consider considered considers; deliver delivered delivers; discover discovered discovers; remember remembered
recover recovered recovers recovering; lower lowered lowers lowering; customer customers; teacher teachers
"""
_OPPOSITES = """
rise grow increase climb gain jump soar surge up high raise lift boost hike expand swell widen rebound
| fall drop decline decrease down low lower shrink slump plunge sink cut reduce slip dip tumble slash shed lose contract
more over above exceed great many most | less few under below least
improve better good strengthen strong | worsen bad deteriorate weaken weak
fast quick speed quickly | slow slowly
win beat victory | lose defeat
earn profit | lose loss deficit
buy purchase acquire | sell
open reopen | close shut
begin start launch | end finish stop halt conclude cease over
accept approve pass adopt back support endorse agree favour favor welcome praise clear
| reject refuse oppose veto block disagree criticise criticize condemn against overturn contest
allow permit legalise legalize enable | ban bar prohibit forbid outlaw disable block
convict | acquit
arrest detain jail | release free
include | exclude exempt
add | remove
enable | disable off
hire recruit | fire dismiss sack
before | after
early | late
long | short
large big | small little
old | young new
warm hot heat | cold cool
bright | faint dim dark
cheap | expensive dear costly
heavy | light
near close | far distant
north northern | south southern
east eastern | west western
first | last
reach arrive enter join | leave depart quit exit withdraw
stay remain | leave depart quit exit withdraw move
lend | borrow
import | export
majority | minority
maximum most | minimum least
succeed success | fail failure
confirm admit acknowledge | deny
sunrise dawn | sunset dusk
safe | dangerous unsafe
legal | illegal
guilty | innocent
possible | impossible
likely | unlikely
able | unable
appear emerge | disappear vanish
public | private
double | half halve
ahead | behind
top | bottom
inside indoor | outside outdoor
upgrade | downgrade
compatible | incompatible
always | never rarely
hope optimistic | fear pessimistic
love like | hate dislike
build | demolish destroy
create | delete destroy
attack | defend
survive live | die
rich | poor
male man | female woman
borrow | repay
give donate | receive
friend ally | enemy foe
for | against
deep | shallow
wet | dry
full | empty
true | false
wide | narrow
senior | junior
tighten | loosen ease
delay postpone | advance
"""
_SYNONYMS = """
say tell state report announce declare add note explain
rise climb increase; fall decline decrease; buy purchase acquire; firm company business; use utilise; show demonstrate
begin start; repair fix; maker manufacturer; help assist; large big; film movie; car automobile; job post
reject veto; death die dead; kill slay; let allow permit; country nation; staff employee worker; physician doctor
shop store; autumn fall-season; illness disease; cut slash; choose pick; test trial; bike bicycle; phone telephone
quick fast; road street; huge enormous; need require; try attempt; appeal; wound injure hurt; release publish
faster quicker; plane aircraft; ship boat vessel ferry; child kid; photo photograph picture; movie film
lawmaker mp parliament; rescue save; get obtain receive; hit reach; measure; leave quit exit depart withdraw
site website; remain stay; stop halt end; wait; ask request; look; believe think suspect; answer respond reply
accuse blame
"""
_ROLES = """
ceo chief-executive; cfo chief-financial; cto chief-technology; coo chief-operating; minister secretary; president
mayor; governor; chancellor; premier; senator; judge; prosecutor; lawyer attorney solicitor barrister; director head
chief boss leader; manager; founder co-founder cofounder; owner; chair chairman chairwoman chairperson; spokesman
spokeswoman spokesperson spokesman; professor prof; doctor physician; scientist; researcher; author; co-author; editor
journalist reporter; analyst; economist; engineer; developer; maintainer; designer; coach; captain; player; goalkeeper
striker; defender; midfielder; singer; actor actress; artist; musician; farmer; teacher; student; nurse; officer
commissioner; commander; general; ambassador; diplomat; lobbyist; councillor; alderwoman alderman; investor
customer; curator; biologist; physicist; chemist; astronomer; epidemiologist; cardiologist; historian
archaeologist; auditor; expert
investigator; organiser organizer; representative; king; queen; prince; princess; pope; bishop; priest; sheriff
inspector; detective; pilot; driver; astronaut; colleague; member; critic; opponent; blogger; chef; architect
mp lawmaker; clerk; advocate; activist; campaigner; partner
"""
_FUNCTION = """
a an the and or but nor of to in on at by for from with as into onto about amid than then so if that which who whom
whose what when where why how is are was were be been being am has have had having do does did will would can could
shall should must it its this these those he she they we you i his her their our your my me him them us itself
himself herself themselves not no there here just also only very too such both each any some all another other others
same own upon per via out off again once still now already yet even ever s t re ve ll d m while whereas because since
until
unless although though during between among through across within without against under over above below up down
before after more most less least few many much one ones may might cannot mr mrs ms dr prof
"""
_LIGHT = """
say according report announce tell write call state add note explain new also now today make take get put go come see
use according claim year month week day time people thing way well around about some nearly almost roughly
include involve become set plan expect currently recently far total number amount show find reveal yesterday tomorrow
article author project team company firm group
"""


_NUMERALS = """
two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10 eleven=11 twelve=12 thirteen=13 fourteen=14 fifteen=15
sixteen=16 seventeen=17 eighteen=18 nineteen=19 twenty=20 thirty=30 forty=40 fifty=50 sixty=60 seventy=70 eighty=80
ninety=90 hundred=100 dozen=12
"""
_MONTHS = (
    "january jan;february feb;march mar;april apr;may;june jun;july jul;august aug;september sep sept"
    ";october oct;november nov;december dec"
)

_IRREGULAR_FORMS = {
    form: group.split()[0] for group in re.split(r"[;\n]", _IRREGULAR.strip()) for form in group.split()[1:]
}


def _base(word: str) -> str:
    """Return the stem of a word: its base form without a suffix."""
    word = _IRREGULAR_FORMS.get(word, word)
    if len(word) <= 3 or not word.isalpha():
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "i"
    return _end_alike(_without_suffix(word))


def _without_suffix(word: str) -> str:
    match = _SUFFIXES.search(word)
    if not match or match.start() < 3:
        return word
    stem = word[: match.start()]
    # "stopped", but not "called" or "missed".
    return stem[:-1] if len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "lsz" else stem


def _end_alike(stem: str) -> str:
    """Return the same stem for "close" and "closing", "study" and "studies"."""
    stem = stem[:-1] if stem.endswith("e") and len(stem) > 3 else stem
    return stem[:-1] + "i" if stem.endswith("y") and len(stem) > 3 else stem


ENGLISH = Language(
    code="en",
    function_words=parse_words(_FUNCTION),
    light_words=parse_words(_LIGHT),
    negators=parse_words(
        "not no never none nobody nothing neither nor cannot n't without deny denies denied denying refuse"
        " refuses refused refusing fail fails failed failing lack lacks lacked lacking unable hardly barely"
        " scarcely"
    ),
    clause_words=parse_words(
        "but while whereas although though because so unless until which who when after before if"
    ),
    hedges=parse_words(
        "may might could if unless alleged allegedly reportedly claim claims claimed rumour rumours rumoured"
        " rumor suggest suggests suggested possible possibly perhaps maybe probably likely unlikely plan plans"
        " planned consider considers considering propose proposes proposed want wants wanted hope hopes hoped"
        " expect expects expected threaten threatens threatened fear fears feared believe believes suspect"
        " suspects try tries tried partly partially almost nearly only except should accuse accuses accused"
        " fewer less least more most some several few"
    ),
    base=_base,
    opposites=parse_opposites(_OPPOSITES, _base),
    synonyms=parse_synonyms(_SYNONYMS, _base),
    past_forms=frozenset(_IRREGULAR_FORMS),
    months=parse_numbered(_MONTHS),
    weekdays=parse_numbered("monday;tuesday;wednesday;thursday;friday;saturday;sunday"),
    numerals=parse_numerals(_NUMERALS),
    speech_verbs=parse_words(
        "say said says tell told tells write wrote writes written add added adds warn warned warns call called"
        " calls announce announced ask asked explain explained argue argued argues admit admitted insist insisted"
        " note noted claim claimed reply replied declare declared tweeted posted joked according predicted"
        " believes"
    ),
    pronouns=parse_words("he she they it we i his her their"),
    roles=parse_groups(_ROLES),
    passive=re.compile(
        r"\b(?:is|are|was|were|be|been|being)\s+(?:\w+\s+)?\w+(?:ed|en|wn|ught|old|ade|ost|ken|ld)\b.{0,60}?\bby\b"
    ),
)
