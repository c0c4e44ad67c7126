"""The words that decide about the meaning of a German sentence."""

from copydesk.drafting.claims.language import (
    Language,
    parse_numbered,
    parse_numerals,
    parse_opposites,
    parse_words,
    suffix_stripper,
)

_base = suffix_stripper(r"(?:ern|em|en|er|es|e|n|s)$")

GERMAN = Language(
    code="de",
    function_words=parse_words(
        "der die das den dem des ein eine einen einem einer eines und oder aber in im an am auf aus bei mit nach"
        " von vom zu zum zur fur um uber unter vor durch gegen bis als wie dass ob wenn weil da so auch nur schon"
        " noch ist sind war waren wird werden wurde wurden hat haben hatte hatten sein seine seinen seiner ihr"
        " ihre ihren ihrer er sie es wir ich man sich soll sollen kann konnen muss mussen will dadurch dies diese"
        " dieser dieses dort hier nun erst gibt gab ab seit rund etwa nicht kein keine keinen keiner ohne angaben"
        " zufolge laut mehr weniger nach"
    ),
    light_words=parse_words("sagen sagt sagte jahr neu neue neuen neuer laut so erklarte teilte mit unternehmen"),
    negators=parse_words(
        "nicht kein keine keinen keiner keinem nie niemand nichts ohne weder kaum bestreitet bestritt bestritten"
    ),
    clause_words=parse_words("aber wahrend obwohl weil sondern und der die das dass"),
    hedges=parse_words(
        "konnte konnten mag wohl vielleicht moglicherweise angeblich mutmasslich soll sollen sollte will wollen"
        " plant planen wurde wurden nur fast teilweise wenn falls"
    ),
    opposites=parse_opposites(
        """
        steigen steigt stieg gestiegen wachsen wachst wuchs erhohen erhoht zunehmen zunahm hoher mehr anstieg
        | ruckgang sinken sinkt sank gesunken fallen fiel gefallen schrumpfen senken senkt gesenkt abnehmen weniger
        gewinnen gewann gewonnen sieg gewinn | verlieren verlor verloren niederlage verlust
        kaufen kauft kaufte gekauft | verkaufen verkauft verkaufte
        offnen offnet offnete geoffnet | schliessen schliesst schloss geschlossen
        beginnen beginnt begann | enden endet endete
        annehmen angenommen genehmigt genehmigen billigt zugestimmt | ablehnen abgelehnt lehnte
        vor | nach
        schneller | langsamer
        besser | schlechter
        teurer | billiger gunstiger
        """,
        _base,
    ),
    base=_base,
    months=parse_numbered("januar;februar;marz;april;mai;juni;juli;august;september;oktober;november;dezember"),
    weekdays=parse_numbered("montag;dienstag;mittwoch;donnerstag;freitag;samstag sonnabend;sonntag"),
    numerals=parse_numerals(
        "zwei=2 drei=3 vier=4 funf=5 sechs=6 sieben=7 acht=8 neun=9 zehn=10 elf=11 zwolf=12 zwanzig=20"
        " dreissig=30 hundert=100 dutzend=12"
    ),
    speech_verbs=parse_words("sagt sagte so erklarte erklart schrieb schreibt laut betonte meinte kritisierte"),
    pronouns=parse_words("er sie es wir"),
    decimal_comma=True,
    capital_nouns=True,
)
