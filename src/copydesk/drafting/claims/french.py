"""The words that decide about the meaning of a French sentence."""

from copydesk.drafting.claims.language import (
    Language,
    parse_numbered,
    parse_numerals,
    parse_opposites,
    parse_words,
    suffix_stripper,
)

_base = suffix_stripper(r"(?:ees|ees|ent|era|ees|ee|er|es|e|s)$")

FRENCH = Language(
    code="fr",
    function_words=parse_words(
        "le la les l un une des du de d au aux et ou mais en dans sur sous par pour avec sans entre vers chez que"
        " qui quoi dont ou ce cet cette ces se s sa son ses leur leurs il elle ils elles on nous vous je est sont"
        " etait etaient sera seront a ont avait avaient ete etre avoir ne n pas plus aucun aucune jamais rien ni y"
        " aussi deja depuis apres avant jusqu selon t"
    ),
    light_words=parse_words("dit annonce declare declaree an annee mois jour nouveau nouvelle"),
    negators=parse_words("pas aucun aucune jamais rien ni sans nie nient"),
    clause_words=parse_words("mais et qui que dont car tandis alors"),
    hedges=parse_words(
        "peut pourrait pourraient peut-etre devrait veut souhaite prevoit envisage si seulement presque demande"
    ),
    opposites=parse_opposites(
        """
        augmente augmenter augmentation hausse monte grimpe progresse croissance
        | baisse baisser diminue diminuer recule recul chute
        gagne gagner victoire benefice | perd perdu perdre defaite perte
        achete acheter | vend vendu vendre
        ouvre ouvert ouvrir | ferme fermer
        commence commencer debut | termine finit fin
        accepte accepter approuve adopte | refuse refuser rejette
        avant | apres
        """,
        _base,
    ),
    base=_base,
    months=parse_numbered("janvier;fevrier;mars;avril;mai;juin;juillet;aout;septembre;octobre;novembre;decembre"),
    weekdays=parse_numbered("lundi;mardi;mercredi;jeudi;vendredi;samedi;dimanche"),
    numerals=parse_numerals(
        "deux=2 trois=3 quatre=4 cinq=5 six=6 sept=7 huit=8 neuf=9 dix=10 onze=11 douze=12 vingt=20 trente=30 cent=100"
    ),
    speech_verbs=parse_words("dit declare affirme explique ajoute ecrit selon annonce estime"),
    pronouns=parse_words("il elle ils elles on nous"),
    decimal_comma=True,
)
