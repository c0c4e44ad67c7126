"""The words that decide about the meaning of a Spanish sentence."""

from copydesk.drafting.claims.language import (
    Language,
    parse_numbered,
    parse_numerals,
    parse_opposites,
    parse_words,
    suffix_stripper,
)

_base = suffix_stripper(r"(?:aron|ando|ara|ran|ado|ada|ar|er|ir|os|as|es|o|a|e|s)$")

SPANISH = Language(
    code="es",
    function_words=parse_words(
        "el la los las un una unos unas de del al a y o e pero en con sin por para sobre entre hasta desde segun"
        " que quien cual este esta estos estas ese esa su sus se lo le les es son era eran fue fueron sera seran"
        " ha han habia no ni nada nunca jamas ya tambien muy mas menos como tras antes despues"
    ),
    light_words=parse_words("dijo dice afirmo anuncio ano mes dia nuevo nueva"),
    negators=parse_words("no ni nunca jamas nada nadie ningun ninguna sin nego niega"),
    clause_words=parse_words("pero y que aunque mientras porque"),
    hedges=parse_words("puede podria podrian quizas tal quiere preve planea si solo casi pidio"),
    opposites=parse_opposites(
        """
        sube subio subir aumenta aumento aumentar crece crecio alza mas
        | baja bajo bajar disminuye disminuyo disminuir cae cayo caida menos
        gana gano ganar victoria beneficio | pierde perdio perder derrota perdida
        compra compro comprar | vende vendio vender
        abre abrio abrir | cierra cerro cerrar
        empieza empezo empezar | termina termino acaba
        acepta acepto aprueba aprobo | rechaza rechazo
        antes | despues
        """,
        _base,
    ),
    base=_base,
    months=parse_numbered("enero;febrero;marzo;abril;mayo;junio;julio;agosto;septiembre;octubre;noviembre;diciembre"),
    weekdays=parse_numbered("lunes;martes;miercoles;jueves;viernes;sabado;domingo"),
    numerals=parse_numerals(
        "dos=2 tres=3 cuatro=4 cinco=5 seis=6 siete=7 ocho=8 nueve=9 diez=10 once=11 doce=12 veinte=20 treinta=30"
        " cien=100"
    ),
    speech_verbs=parse_words("dijo dice afirmo afirma anuncio segun explico escribio"),
    pronouns=parse_words("el ella ellos ellas"),
    decimal_comma=True,
)
