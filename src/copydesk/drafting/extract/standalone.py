"""Rules that tell if a sentence or a title reads well alone, outside the text it was taken from.

Each rule is a pattern, per language where words differ. They decide on words alone, so they reject some good sentences;
a text usually has others.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from typing import NamedTuple

_CJK = frozenset({"ja", "zh"})
# Words at the beginning of a sentence that point back to an earlier one.
_DANGLING_STARTS = {
    "en": r"""
        (?:He|She|It|They|This|That|These|Those|His|Her|Their|Its|And|But|So|Also|Then|However|Or|Yet|Still|Instead
        |Meanwhile|Moreover|Consequently|Accordingly|Furthermore|Additionally|Therefore|Thus|Hence|Nevertheless
        |Nonetheless|Both|Such|Another|Others?|Similarly|Likewise|Otherwise|Again|Finally|Lastly|First(?:ly|\ off
        |(?=,))|Second(?:ly|(?=,))|Third(?:ly|(?=,))|Next|Because\ of\ (?:this|that)|For\ (?:example|instance
        |context)|In\ (?:addition|particular|contrast|short|fact|turn|total|response|return|other\ words
        |the\ (?:meantime|end|process))|By\ contrast|Even\ (?:more|so|then|worse)|More\ than\ that|Beyond\ (?:that
        |this)|Besides|Conversely|Rather|Specifically|Personally|Eventually|Afterwards?|(?:Un)?[Ff]ortunately
        |Luckily|Sadly|Anyways?|After\ (?:all|that|this|which)|As\ (?:a\ result|such|mentioned|noted|usual|always
        |it\ turns\ out|I|we|you)|At\ (?:that|this|the\ same)\ (?:time|point)|To\ (?:start|begin|that\ end|be\ clear
        |be\ fair|recap)|On\ (?:the\ other\ hand|top\ of\ that)|That\ said|Of\ course|Indeed|Either|Neither
        |An?\ direct\ (?:corollary|consequence|result)
        |An?\ (?:alternat(?:e|ive)|other|similar|second|third|further|final|related|better)|As\ (?:for|to)|Here
        |There(?=,)|Yes|No(?=,)|Nope|Sure|Well|Now|Okay|OK|Oh|Plus|Not\ (?:only|that)|Same|Like\ I|Asked|Elsewhere
        |Later|Since\ then|Until\ then|Back\ then|By\ then|Then|Earlier|Previously|Last\ (?:time|post)|What’s\ more
        |What's\ more|What\ follows|Which|Who|Where|Turns\ out|Lots\ of|One\ (?:was|is|of|reason|thing|way|such)
        |Hopefully|Apparently|Obviously|Clearly|Basically|Actually|Honestly|Essentially|Interestingly|Surprisingly
        |Thankfully|Maybe|Perhaps|None\ of\ (?:this|that|them)|(?:One|Some|Many|Most|All|Each|Two
        |Three)\ of\ (?:them|these|those)|(?:The|Of\ the)\ (?:latter|former|other|same|rest|following|above|upshot
        |bottom\ line|good\ news|bad\ news|catch|trick|takeaway)|(?:When|While|As|If|Since|After|Before|Because
        |Although|Though|Once|Until|Even\ (?:if|though|when)|Whether|Where|Unless)\ (?:he|she|it(?!\ comes\ to)|they
        |this|that|these|those|doing\ (?:so|this|that)))\b""",
    "de": r"""
        (?:Er|Sie|Es|Dies(?:e[rsmn]?)?|Jene[rsmn]?|Das\ (?:ist|war|sind|waren|hat|hatte|macht|wird|soll|sagt|gilt
        |liegt|geht|kann|heißt|zeigt|bedeutet|sei|führt)|Aber|Und|Doch|Denn|Oder|Dabei|Damit|Daher|Deshalb|Darum
        |Dann|Danach|Dort|Da|Dazu|Dafür|Dagegen|Davon|Darüber|Dadurch|Daran|Darauf|Daraufhin|Außerdem|Zudem
        |Allerdings|Jedoch|Trotzdem|Dennoch|Hingegen|Somit|So|Auch|Hier|Jetzt|Nun|Deren|Dessen|Ihr[e]?[rsmn]?
        |Sein[e]?[rsmn]?|Solche?[rsmn]?|Beide[rsn]?|Weitere|Zum\ Beispiel|Unter\ anderem|Schließlich|Letztlich
        |Inzwischen|Ebenso|Ähnlich|Anders|Ja|Nein|Wer|Was|Wie|Welche[rsmn]?)\b""",
    "fr": r"""
        (?:Il|Elle|Ils|Elles|Ce|Cet|Cette|Ces|Cela|Ça|Celui|Celle|Ceux|Celles|C['’]|Son|Sa|Ses|Leurs?|Mais|Et|Donc
        |Or|Ainsi|Cependant|Toutefois|Pourtant|Puis|Ensuite|Enfin|Aussi|En\ (?:effet|outre|revanche|fait|plus
        |conséquence)|Par\ (?:exemple|ailleurs|contre|conséquent)|De\ (?:plus|même)|D['’](?:ailleurs|autre|où)|Alors
        |Là|Ici|Y\ |Lui|Eux|Oui|Non|Car|Quant\ à|Une\ telle|Un\ tel|De\ tel(?:le)?s)(?:\b|(?<=['’]))""",
    "es": r"""
        (?:Él|Ella|Ellos|Ellas|Est[aeo]s?|Es[aeo]s?|Aquel(?:la|los|las)?|Su|Sus|Pero|Y|O|Sin\ embargo|Así|Además
        |También|Entonces|Luego|Después|Por\ (?:eso|ello|lo\ tanto|tanto|ejemplo|otro\ lado|su\ parte|último)
        |De\ hecho|En\ cambio|No\ obstante|Ahí|Allí|Aquí|Ambos|Ambas|Tal|Tales|Lo\ mismo|Otros?|Otras?|Sí|Ahora
        |Mientras\ tanto|Asimismo|Finalmente)\b""",
    "it": r"""
        (?:Lui|Lei|Loro|Egli|Ella|Essi|Esse|Esso|Questo|Questa|Questi|Queste|Quest['’]|Quello|Quella|Quelli|Quelle
        |Ciò|Suo|Sua|Ma|E|O|Però|Così|Inoltre|Anche|Quindi|Dunque|Infatti|Tuttavia|Poi|Infine|Lì|Qui|Entrambi
        |Entrambe|Tale|Tali|Perciò|Per\ (?:esempio|questo)|Altri|Altre|Sì|Intanto|Ora)\b""",
    "pt": r"""
        (?:Ele|Ela|Eles|Elas|Este|Esta|Estes|Estas|Isso|Isto|Esse|Essa|Esses|Essas|Aquele|Aquela|Seu|Sua|Seus|Suas
        |Mas|E|Ou|No\ entanto|Porém|Assim|Além\ d\w+|Também|Então|Depois|Por\ (?:isso|exemplo|outro\ lado|sua\ vez
        |fim)|De\ fato|Ali|Aqui|Ambos|Ambas|Tal|Tais|Outros?|Outras?|Sim|Agora|Já)\b""",
    "nl": r"""
        (?:Hij|Zij|Ze|Het\ (?:is|was)|Dit|Dat|Deze|Die|Maar|En|Of|Dus|Daarom|Daarna|Daarmee|Daarbij|Daardoor|Toch
        |Ook|Echter|Bovendien|Verder|Toen|Dan|Daar|Hier|Zijn|Haar|Hun|Beide|Zo|Bijvoorbeeld|Ja|Nee|Nu|Want)\b""",
    "ja": r"""
        (?:これ|それ|あれ|この|その|あの|こう|そう|ここ|そこ|しかし|そして|だが|ただ|また|さらに|ですが|でも|だから|なので|つまり|例えば|たとえば|一方|彼|彼女|同|なお|次に|まず|最後に
        |ちなみに|では|さて|と、|が、)""",
    "zh": r"""
        (?:这|那|他|她|它|此|该|其|但|然而|而|并|因此|所以|于是|同时|另外|此外|例如|比如|首先|其次|最后|不过|与此|这样|随后|对此)""",
}  # fmt: skip
# The same anywhere in a sentence. These and the next two are searched in lower case: a pattern that ignores case takes
# two to five times as long, as it tries every alternative at every letter.
_DANGLING_WORDS = {
    "en": r"""
        \b(?:this|these|those)\b(?!\ (?:year|month|week|season|century|decade|summer|winter|spring|fall|autumn
        |morning|afternoon|evening|weekend|quarter|past|coming|mon|tues|wednes|thurs|fri|satur|sun|jan|feb|mar|apr
        |may|jun|jul|aug|sep|oct|nov|dec))|,\ (?:however|therefore|though|too|instead|meanwhile|for\ (?:example
        |instance)|in\ turn|as\ a\ result|of\ course|then|again|moreover|by\ contrast)\b[,.;]|\b(?:last\ time
        |next\ time|the\ (?:latter|former|above|following)(?=[.,;]|\ (?:is|are|was|were|has|have|had)\b)
        |as\ (?:mentioned|noted|described|discussed|above)|(?:did|do|does|doing)\ so|such\ (?:an?|things?|cases?
        |moves?|plans?|claims?)|of\ (?:them|it)|aforementioned|mentioned\ (?:above|earlier|before))\b|\b(?:too
        |as\ well|so|here|there|either|again|though|this|that|it|them|him|her|one|ones|respectively)[.!]
        |\b(?:such\ (?!as\b)\w|(?:all|the|other)\ (?:\d+|two|three|four|five|six|seven|eight|nine|ten)\ (?:that|who
        |which
        |had|have|was|were|are)\b|equally\b|as\ usual\b|(?:part|one|all)\ of\ that\b|that\ \w+ing\ \w+
        |in\ the\ \w+\ example|(?:one|an?|another)\ (?:\w+\ )?example\b(?!\ of)|similar\b(?!.*\ to\b)
        |to\ put\ it|at\ the\ (?:beginning|start|time)\b(?!\ of)|(?:first|previously)\ reported
        |the\ (?:first|second|third|last|next|others?)\ (?:is|was|are|were|one)\b
        |(?:had|has|have|every|another|other)\ (?:\d{1,3}|two|three|four|five|six|seven|eight|nine|ten)
        (?=[.,;]|\ (?:last|in|and|but|of\ which|are|were)\b))
        |\bof\ the\ (?:\d+|two|three|four|five|six|seven|eight|nine|ten)\ (?:(?:is|are|was|were|has|have|had)\b|\w+ed
        (?=[.,;]|\ (?:after|afterwards|again|and|at|before|but|by|for|from|in|on|so|to|when|while|with|without)\b))
        |\(\d+(?:,\ ?\d+)*\)|^.{0,40}\balso\b|^[^,]{1,30},\ (?:he|she|it|they)\b|^(?:\S+\ ){1,4}they\b
        |^\w+\ (?:it(?!\ comes\ to)
        |them)\b|\b(?:about|for|from|of|on|to|with)\ it[,.;!]""",
    "de": r"""
        \b(?:diese[rsmn]?|dieses|jene[rsmn]?|oben\ genannte\w*|letztere[rsmn]?|dort|dafür|damals|deshalb|daher|dabei
        |jedoch|außerdem|zudem|trotzdem)\b(?!\ (?:jahr|woche|monat|sommer|winter|herbst|frühjahr|tag))""",
    "fr": r"""
        \b(?:ce|cet|cette|ces)\ (?!(?:année|mois|semaine|matin|soir|été|hiver|printemps|automne|week-end|jour|qu\w*
        |n['’])\b)\w|\b(?:celui-ci|celle-ci|ceux-ci|ce\ dernier|cette\ dernière|toutefois|cependant|pourtant)\b
        |^.{0,30}\b(?:aussi|également)\b""",
    "es": r"""
        \b(?:est[ea]|es[ea]|est[oa]s|es[oa]s)\ (?!(?:año|mes|semana|lunes|martes|miércoles|jueves|viernes|sábado
        |domingo|verano|invierno|otoño|primavera|mañana|tarde|noche)\b)\w|\b(?:este\ último|esta\ última|dicho|dicha
        |sin\ embargo)\b|^.{0,30}\b(?:también|además)\b""",
    "it": r"""
        \b(?:quest[oaie]|quell[oaie])\ (?!(?:anno|mese|settimana|mattina|sera)\b)\w|\b(?:tuttavia|inoltre
        |quest['’]ultim\w)\b""",
    "pt": r"""
        \b(?:est[ea]s?|ess[ea]s?|nest[ea]s?|ness[ea]s?|dess[ea]s?)\ (?!(?:ano|mês|semana|manhã|noite)\b)\w
        |\b(?:no\ entanto|porém)\b""",
    "nl": r"\b(?:deze|daarmee|daarom|echter|bovendien)\b(?!\ (?:week|maand|zomer|winter))",
    "ja": "(?:この|その|これら|それら|こうした|そうした|同[社氏国省県市])(?!(?:ほか|まま|後|ため))",
    "zh": "(?:这[个些种次]|那[个些种次]|上述|上文|下文)",
}  # fmt: skip
_ANNOUNCEMENTS = {
    "en": r"""
        \b(?:in|for)\ (?:this|today['’]s|the\ latest|our\ latest|my\ latest)\ (?:\w+\ ){0,2}(?:post|article|essay
        |piece|episode|video|issue|edition|newsletter|guide|tutorial|series|podcast|report|column|roundup|interview
        |conversation|talk|session|update)\b|\b(?:we|i)(?:['’]ll|['’]m\ going\ to|['’]re\ going\ to|\ will
        |\ want(?:ed)?\ to|['’]d\ like\ to|\ would\ like\ to|\ am\ going\ to)\b|^(?:what|how|why|below|welcome
        |hello|hi(?!-)|hey|dear
        |greetings|thanks|thank\ you|happy|congrat\w*|introducing|announcing|presenting|today\ we|just\ (?:some|a)
        |various|some\ (?:quick\ )?(?:news|notes|updates|thoughts|links)|following\ (?:is|are)|recorded\ live
        |(?:a|an|the)\ (?:\w+\ ){0,2}(?:look
        |round-?up|list|collection|guide|recap|summary|overview|introduction|deep\ dive|review|tour|selection|video
        |podcast|newsletter|interview|conversation)\b\ (?:at|of|to|on|into|with|about|for|from)
        |the\ best\ \w+\ content|(?:our|my)\ (?:weekly|daily|monthly|latest)|what\ you\ need\ to\ know
        |everything\ you\ need|stay\ tuned|more\ (?:on|about|details|to\ come)|live\ (?:updates|blog)|follow\ live
        |catch\ up|episode\ \d+|(?:full|show|release)\ (?:notes|transcript|changelog)|spoilers?|disclaimer|disclosure
        |notes?|updates?|edit|edited\ by|tl;?dr|ps|p\.s|originally\ published|updated?\ (?:on|at)
        |published\ (?:on|in|by)|posted\ (?:on|in|by)|written\ by|translated|reporting\ by|editing\ by|corrections?)\b
        |\b(?:full|complete)\ (?:story|article|list|transcript|release\ notes)\b
        |\b(?:this|that)\ week['’]s\ (?:episode|issue|newsletter)
        |\bi(?:['’]m|\ am)\ (?:so\ |very\ )?(?:excited|thrilled|happy|pleased|proud|delighted)
        |\b(?:stay\ tuned|coming\ soon|read\ on|watch\ the\ video|listen\ to|find\ out|here['’]s|here\ (?:is|are
        |you)|keep\ reading|min(?:ute)?s?\ read|table\ of\ contents|step-by-step\ guide|update\ (?:about|on)\ the
        |proud\ to\ announce
        |sneak\ peek|guest\ post|time\ i\ wrote|blog\ post
        |(?:is|are)\ available\ (?:now|today|for)|(?:is\ now|slides\ are|videos?\ (?:is|are)
        |tickets\ are)\ available|i\ (?:recently|just|finally|sat\ down|wrote\ about)|let['’]s|let\ us)\b""",
    "de": r"""
        \b(?:in\ diesem|im\ heutigen|in\ unserem)\ (?:artikel|beitrag|video|post|podcast|newsletter|blog\w*|text
        |tutorial)|^(?:hier|wir\ (?:zeigen|stellen|erklären|haben|präsentieren|verraten)|alles,?\ was
        |ein\ (?:überblick|kommentar|gastbeitrag)|eine\ übersicht|lesen\ sie|im\ (?:überblick|video|podcast)|hallo
        |willkommen|herzlich\w*|liebe[rs]?|danke|heute)\b""",
    "fr": r"""
        \b(?:dans\ cet?(?:te)?|dans\ ce)\ (?:article|billet|vidéo|épisode|numéro|tutoriel|dossier)|^(?:voici|voilà
        |découvrez|retrouvez|nous\ vous|on\ vous|le\ point\ sur|tour\ d['’]horizon|bonjour|bienvenue|merci|suivez
        |regardez|écoutez|tout\ savoir|à\ lire|lire)\b""",
    "es": r"""
        \b(?:en\ est[ea]|en\ nuestr[oa])\ (?:artículo|post|vídeo|video|entrada|episodio|guía|tutorial)
        |^(?:te\ (?:contamos|explicamos|mostramos)|descubre|conoce|consulta|estos\ son|estas\ son|así\ (?:es|fue)
        |sigue|mira|lee(?:r\ más)?|hola|bienvenid\w*|gracias|todo\ lo\ que)\b""",
    "it": r"""
        \bin\ quest[oa]['’]?\ (?:articolo|post|video|guida|episodio)|^(?:ecco|scopri(?:te)?
        |vi\ (?:raccontiamo|spieghiamo)|ciao|benvenut\w*|grazie|tutto\ quello)\b""",
    "pt": r"""
        \bn(?:est|ess)[ea]\ (?:artigo|post|vídeo|guia|episódio)|^(?:(?:confira|veja|saiba|conheça|descubra
        |acompanhe|entenda)m?|olá|obrigad\w*)\b""",
    "nl": r"\bin\ dit\ (?:artikel|bericht|filmpje|blog\w*)|^(?:bekijk|lees|ontdek|welkom|hallo|bedankt|luister)\b",
    "ja": r"""
        (?:この記事|本記事|今回は|今回の|ご?紹介(?:します|する|いた)|お届け|お送り|まとめました|解説します|お知らせ|ご覧|ご期待|ありがとう|こんにちは|詳しくは)""",
    "zh": "(?:本文|本期|今天我们|下面|让我们|欢迎|感谢|敬请|点击|关注|一起来看)",
}  # fmt: skip
_ADDRESSES = {
    "en": r"""
        [;—–:]\ (?:don['’]t|use|make\ sure)\b
        |^(?:know|keep|make\ sure|avoid|never|always|ensure|beware|assume|pick|choose|start\ with
        |ask\ (?:yourself|for)|give\ (?:it|them|your)|use\ (?:an?|the|your|it)
        |please|check|see|read|watch|join|find|download|visit|listen|follow|click|tap|stay|enjoy|meet|discover
        |learn|get|grab|tune|take\ a\ look|have\ a|scroll|share|tell|send|contact|email|sign|register|subscribe|buy
        |order|shop|save|pre-?order|book\ (?:now|your)|don['’]t|do\ not|remember|imagine|consider|suppose
        |think\ (?:of|about)|want\ to|ready\ to|need\ a|looking\ for|come|try|explore|support|donate|apply|vote
        |submit|drop|test\ yourself|reason\ from|let\ me|feel\ free|look\ (?:at|for)|if\ you(?:['’]re|['’]d|['’]ve
        |\ (?:are|have|would|want(?:ed)?|were|had|like|enjoy|love|haven['’]t|need|missed)))\b|\b(?:let\ (?:us|me)\ know
        |feel\ free
        |your\ inbox|our\ (?:website|shop|store|podcast)|my\ (?:website|shop|store|podcast|patreon)|sign\ up
        |promo\ code|discount|coupon|free\ shipping|buy\ now|pre-?order|giveaway|browser\ does\ not\ support
        |enable\ javascript|javascript|ad\ ?blocker?s?)\b""",
    "de": r"""
        ^(?:bitte|klicken|lesen|abonnieren|folgen|melden|schauen|entdecken|erfahren|jetzt)\b|\b(?:hier\ klicken
        |abonnieren|newsletter|gewinnspiel|rabatt)""",
    "fr": r"""
        ^(?:cliquez|abonnez|inscrivez|rejoignez|lisez|consultez|n['’]oubliez|partagez|profitez)\b|\b(?:abonnez-vous
        |cliquez|newsletter|inscrivez)""",
    "es": r"""
        ^(?:haz|suscríbe\w*|únete|regístrate|comparte|visita|escucha|recuerda|no\ te\ pierdas)\b|\b(?:haz\ clic
        |suscríbe\w*|boletín)""",
    "it": r"^(?:clicca|iscriviti|leggi|seguici|condividi)\b|\b(?:clicca|iscriviti|newsletter)",
    "pt": r"^(?:clique|inscreva|leia|siga|compartilhe|assine|participe)m?\b|\b(?:clique|inscreva-se|newsletter)",
    "nl": r"^(?:klik|volg|meld|abonneer|deel)\b|\b(?:klik\ hier|nieuwsbrief)",
    "ja": "(?:してください|クリック|登録|フォロー|応募|購入はこちら|こちら)",
    "zh": "(?:请|点击|扫码|订阅|关注我们|转载)",
}  # fmt: skip
_GROUPS = {
    "en": r"\b(?:[Ww]e|[Oo]ur|[Oo]urs|us|[Oo]urselves)\b",
    "de": r"\b(?:[Ww]ir|[Uu]ns|[Uu]nser\w*)\b",
    "fr": r"\b(?:[Nn]ous|[Nn]otre|[Nn]os)\b",
    "es": r"\b(?:[Nn]osotr[oa]s|[Nn]uestr[oa]s?|[Nn]os)\b",
    "it": r"\b(?:[Nn]oi|[Nn]ostr[oaie])\b",
    "pt": r"\b(?:[Nn]ós|[Nn]oss[oa]s?|[Aa]\ gente)\b",
    "nl": r"\b(?:[Ww]ij|[Ww]e|[Oo]nze|[Oo]ns)\b",
    "ja": "(?:私たち|わたしたち|我々|われわれ|弊社|当社|当サイト|当店|僕ら)",
    "zh": "(?:我们|本站|小编|笔者)",
}
_SPEAKERS = {
    "en": r"(?:(?<!\bWar\ )\bI\b(?![.-])|\b(?:[Mm]y|[Mm]e|[Mm]ine|[Mm]yself)\b)",
    "de": r"\b(?:[Ii]ch|[Mm]ich|[Mm]ir|[Mm]ein(?:e[rsmn]?)?)\b",
    "fr": r"\b(?:[Jj]e|[Mm]oi|[Mm]on|[Mm]es)\b|\b[Jj]['’]",
    "es": r"\b(?:[Yy]o|[Mm]i|[Mm]is|[Mm]e)\b",
    "it": r"\b(?:[Ii]o|[Mm]io|[Mm]ia|[Mm]iei|[Mm]i)\b",
    "pt": r"\b(?:[Ee]u|[Mm]eus?|[Mm]inhas?|[Mm]e)\b",
    "nl": r"\b(?:[Ii]k|[Mm]ijn|[Mm]ij)\b",
    "ja": "(?:私|僕|俺|わたし)(?!立)",
    "zh": "我(?!国|们)",
}
# A sentence that begins with these, and names nobody and no number, could be about anything.
_GENERALITY = re.compile(
    r"(?:Some|Many|Most|Few|People|Everyone|Everybody|Nobody|Sometimes|Often|Usually|Generally|Every|Any|Lots of"
    r"|Plenty of|A lot of|There (?:is|are))\b"
)
# Whatever they name: "Many people in America" is no fact about America.
_PEOPLE = re.compile(r"(?:Too many|So many|Many|Most|Lots of) (?:people|of us|teams|companies|developers)\b")
# A judgement or advice: a fact only with a name or a number.
_JUDGEMENT = re.compile(
    r"\b(?:is|are|was|were|be)\s(?:\w+\s){0,2}?(?:useful|hard|easy|important|tractable|good|great|bad|terrible|better|best"
    r"|worse|worst|crucial|essential|key|wrong|right|boring|fun|beautiful|overrated|underrated|valuable|simple|difficult)\b"
    r"|\b(?:should|must|ought\sto|need\sto|have\sto)\b|\b[Yy]ou(?:['’]\w+)?\b",
)
_COLLOQUIAL = re.compile(
    r"\b[Yy]ou (?:should|must|need|have to|ought|want to)\b"
    r"|\bway (?:better|worse|more|less|too)\b|\bdamn\b|\b(?:super|pretty|really) (?:cool|nice|great|easy)\b"
)
_PRAISE = re.compile(
    r"""(?x)
        \b(?:single\ pane\ of\ glass|(?:comes\ )?(?:loaded|packed)\ with|seamless(?:ly)?|cutting-edge
        |next-gen(?:eration)?|world-class|best-in-class|state-of-the-art|game-?chang\w+
        |unlock(?:s|ing)?\ (?:the|new|your)|empower(?:s|ing)?
        |(?:excited|thrilled|delighted|proud|honou?red)\ to|effortless(?:ly)?|out\ of\ the\ box|industry-leading
        |(?:leading|trusted)\ (?:provider|partner|platform)|one\ of\ the\ (?:fastest|leading|most\ trusted)
        |just\ works|all-in-one|supercharge\w*|blazing(?:ly)?|powerful\ new|available\ on\ all\ (?:paid\ )?plans
        |(?:your|you)\ (?:team|business|data|customers|workflow)s?|in\ (?:seconds|minutes)\.)\b"""
)
_SPECIFIC = re.compile(r"\d|(?<=[\w,;’'”)] )[“‘\"'(]?(?!I\b)[A-ZÀ-Þ][\w’'-]*")
_WE = re.compile(r"\b[Ww]e\b")
_NUMBER = re.compile(r"\d")
_INNER_CAPITAL = re.compile(r"\b(?:[A-Za-z]*[a-z][A-Z]\w*|[A-Z]{2,}\w*)\b")
_MAX_PARTICLE = 4
"""Letters of the words that Title Case leaves small, such as "with"."""
_SUBJECT_LINE = re.compile(r"(?:On|About|Notes on|Thoughts on|Regarding)\s")
_MIN_LIST_COMMAS = 2
_NAMELESS = re.compile(r"\b(?:[Hh]e|[Ss]he|[Hh]im|[Hh]is|[Hh]er|[Hh]ers)\b")
_CAPITALIZED = re.compile(r"\b[A-ZÀ-Þ][\w’'-]+")
_NOT_NAMES = frozenset("The A An In On At For With After Before During While When As From By To".split())  # noqa: SIM905

_MARKS = '“”"«»„「」『』'
_QUOTATION = re.compile(
    r"“[^“”]*”|\"[^\"]*\"|«[^«»]*»|„[^„“”]*[“”]|「[^「」]*」|(?<!\w)‘(?:[^‘’]|(?<=\w)’(?=\w)){12,}’(?!\w)"
    r"|(?<!\w)'(?:[^']|(?<=\w)'(?=\w)){12,}'(?!\w)"
)
_OPENS_WITH_QUOTATION = re.compile(r"[\"“”«„‘'「『]")
_MAX_NESTED_SHARE = 0.5
_LEFTOVER_START = re.compile(
    r"(?:Solution|Problem|Question|Answer|Result|Example|Step|Tip|Goal|Idea|Pro|Con)s?:|[A-Z]{2,}(?: [A-Z]{2,})*:"
    r"|\W{2,}|\(|\w+ - |\d[\d\s.,:/-]*$"
)
_LEFTOVER = re.compile(
    r"[?!]\.(?:\s|$)|\.\.|,\.|\s[.,;](?:\s|$)|\s\|\s|[|»›→↗↓©®™]\s*$|\[\w{0,3}\]|\[…\]|__|\*\*|\w@\w|\ufffd|&\w+;"
    r"|[a-z]{3}(?:\d{1,2}[.,;]|\.\d{1,2}(?:\s|$))|:\S*\.(?:jpg|png|gif|webp)|\d:\d\d\b.*\d:\d\d\b|[A-Z]{2,}(?:\s+[A-Z]{2,}){4}"
    r"|\b(?:undefined\b|NaN\b|https?:|www\.|\d{1,2}:\d\d:\d\d\b)"
)
# In lower case, too.
_OFFENSIVE = re.compile(
    r"""(?x)
        \b(?:(?:mother)?fuck\w*|(?:bull|ape|horse|dip)?shit\w*|cunts?|bitch(?:es|ing|y)?|ass(?:hole|hat)s?|whores?
        |sluts?|nigg(?:er|a)s?|fag(?:got)?s?|retard(?:s|ed)?|trann(?:y|ies)|kikes?|spics?|chinks?|gooks?|wetbacks?
        |ragheads?|towelheads?|dickheads?|wank(?:er|ers|ing)|[a-z]{1,2}\*{2,}[a-z]*|scheiß\w*|scheiss\w*|fotzen?
        |hurens\w+|arschl\w+|neger\w*|kanaken?|putain|merdes?|connards?|connasse|salopes?|enculés?|nègres?
        |bougnoules?|mierdas?|gilipollas|maric[oó]n(?:es)?|cabr[oó]n(?:es)?|hij[oa]s?\ de\ puta|sudacas?|cazz[oi]
        |stronz[oai]|puttan[ae]|vaffanculo|froci[oa]?|caralho|viados?)\b"""
)

_PROMOTION = re.compile(
    r"""(?ix)
        \b(?:sponsored|advertorial|advertisement|giveaway|promo\ codes?|coupons?|\d+\s?%\ (?:off|rabatt|sconto
        |de\ descuento|de\ réduction)|(?:best|top|today['’]s)\ (?:\w+\ ){0,3}deals|deals?\ of\ the|black\ friday
        |cyber\ monday|prime\ day|gift\ guide|anzeige|werbung|gewinnspiel|schnäppchen|bons?\ plans?
        |jeu[-\ ]concours|gagnez|sorteo|verlosung|publirreportaje
        |patrocinad[oa]|contenuto\ sponsorizzato)\b|\[(?:ad|paid|sponsor\w*)\]|^ad\s*[|:]|^win\ an?\b
        |プレゼントキャンペーン
        |【PR】"""
)
_NO_STORY = re.compile(
    r"""(?ix)
        ^how\ [\w’'&.\ -]{2,40}\ (?:cuts?|saved?|saves|reduced?s?|boost(?:s|ed)|scaled?s?|grew|increase[sd]|built|uses?
        |improve[sd]|migrated|doubled)\b.*\b(?:with|using)\ |^(?:photos?|pictures|images)\ (?:of|from)\b
        |^things\ (?:i|we)\b
        |^(?:introducing|meet\ us|we\ raised|road\ closures?
        |minutes\ of|agenda\b|planning\ (?:application|permission)|bin\ collections?|waste\ collections?|litter\ pick
        |opening\ hours|holiday\ hours|office\ closed|obituaries|reader\ survey|ask\ an?\ \w+:)|\bhighlights:
        |\b(?:key\ events|status\ update|loter[ií]a|fotogaler[ií]a|galleria\ fotografica)\b|^resultados\ d[eo]
        |\b(?:awarded|receives?|wins?)\ (?:an?\ )?\$?[\d.,]*\ ?(?:m|million)?\ ?(?:\w+\ )?grant\b
        |\b(?:gesperrt|entfällt|fällt\ aus)$
        |\b(?:horóscopos?|horoskop\w*|horoscopes?|oroscopo|is\ hiring|now\ hiring
        |nominations?\ (?:are\ )?(?:now\ )?open|registration\ (?:is\ )?(?:now\ )?open|call\ for\ (?:papers|entries
        |applications|nominations)|public\ notice|notice\ (?:under|of)|AMA|build\ log|development\ update)\b
        |^\d{1,2}/\d{1,2}\b|(?:en\ directo|en\ vivo|en\ direct|liveticker|live\ updates)\W*$
        |\b(?:newsblog|newsticker|join\ us|rate\ my|uses\ page|named\ an?\ (?:\w+\ )?leader|people\ on\ the\ move
        |future\ of\ [\w\ ]+\ is\ here|flying\ off\ (?:the\ )?shelves|do\ you\ (?:really\ )?(?:know|remember)
        |test\ your\ knowledge|plus\ belles\ (?:photos|images)|bildergalerie|bilderstrecke|fotostrecke
        |galer[ií]a\ de\ fotos|en\ (?:images|imágenes|fotos)(?=\W*$|\s*[:.]))\b
        |\.\ (?-i:And|Plus),?\ |^(?:announcing|(?:updated?|weather|wetter|météo|meteo|press\ release)\s?:)
        |\b(?:reader\ mail|mailbag|letters\ to\ the\ editor|taking\ a\ break|we\ want\ your
        |pricing\ plans?|per\ month|benefits\ of
        |(?:my|our)\ (?:\w+\ )?(?:book|album|course|shop)\ is\ (?:out|here|available|open)|live\ from)\b
        |^(?:wir\ suchen|fundsachen|termine\ im)\b
        |メンテナンス|アクセスランキング
        |^お知らせ
        |\b(?:maintenance\ (?:window|notice|mode)|lott(?:o|ery)\ (?:numbers|results)|winning\ numbers|lottozahlen
        |euromill(?:ions|ones|ion)|euromilhões|wartungsarbeiten|most\ read|meistgelesen|les\ plus\ lus)\b
        |^(?:tenders?|ausschreibung|appel\ d['’]offres|licitación|job\ (?:offer|opening)|we(?:['’]re|\ are)\ hiring
        |vacanc(?:y|ies)|customer\ (?:story|stories|spotlight)|case\ study|success\ story|service\ (?:notice|status)
        |read\ also|lire\ aussi|à\ lire|siehe\ auch|lesen\ sie|lea\ también|leia\ também|leggi\ anche|lees\ ook)\b
        |^(?:(?:monthly|weekly|my|our)\ favou?rites?\b|(?:we(?:['’]ve|\ have)\ moved))
        |^(?:última\ hora\b|(?:about|contact|home
        |search|imprint|impressum|datenschutz|privacy|terms|cookies?|archives?|tags?|categor(?:y|ies)|blog|posts?
        |news|links?|now|uses|subscribe|newsletter|untitled|no\ title|test|hello\ world!?|welcome|sitemap|index
        |login|(?:page\ )?not\ found|404|500|error|forbidden|access\ denied|just\ a\ moment|attention\ required
        |über\ (?:uns|mich)|kontakt|à\ propos|mentions\ légales|acerca\ de|contacto|chi\ siamo|contatti)(?:\ (?:us
        |me|page|results?|policy|of\ (?:use|service)|this\ site))?[.!…]*$|(?:comment|reply|kommentar|commentaire
        |comentario|commento)s?\ (?:on|to|by|from|zu|von|sur|de|en|su)\b|(?:by|von|par|por|re|aw|rt)\s?:|@\w
        |(?:in\ reply\ to|liked|reposted|bookmarked)\b|live\s?(?:[:–—|]|-(?!\w))
        |live\ ?(?:blog|ticker|stream|updates?)\b
        |as\ it\ happened|liveticker|en\ direct\s?[:–—|-]|en\ vivo\s?[:–—|-]|(?:open|weekly|daily|monthly|discussion
        |friday|weekend)\ (?:\w+\ )?(?:thread|discussion|links|digest|round-?up|quiz|crossword|horoscope)
        |(?:crossword|horoscope|sudoku|wordle|quiz)\b|(?:misc(?:ellaneous)?|various|some|quick|site|blog|minor
        |weekly|monthly|random|assorted)\ (?:updates?|notes|news|thoughts|links|stuff|things|bits)\b[^:]*$
        |weeknotes?\b|links?(?:\s?:|\ (?:for|of|from|roundup))|(?:media|press)\ advisory|(?:(?:author|publisher)\ )?
        correction\s?:|erratum|corrigendum|retraction\ note|from\ the\ archives?|in\ this\ issue
        |table\ of\ contents|issue\ information|nightly\b|scheduled\ maintenance|planned\ maintenance|photo\ of\ the
        |picture\ of\ the|image\ of\ the|jobs?\s?:|hiring\s?:|tv\ tonight|what['’]s\ on\b|what\ i(?:['’]m|\ am
        |['’]ve\ been)\ (?:reading|watching|up\ to)|(?:episode|ep\.?|issue|no\.?|week|day|vol\.?|\#)\s*\#?\d+$
        |[\d\s./:-]+$)"""
)
_CLICKBAIT = re.compile(
    r"""(?ix)
        \b(?:won['’]t\ believe|will\ (?:shock|blow)|what\ happen(?:s|ed)\ next|mind-?blowing|jaw-dropping|genius
        |weird\ trick|one\ (?:simple|weird)\ trick|slammed|claps\ back|people\ are\ (?:divided|obsessed|losing)
        |(?:the\ )?internet\ is\ (?:obsessed|losing|divided)|doctors\ hate|no\.\ \d+\ (?:is|will)|goes\ viral
        |go\ viral|number\ \d+\ will|this\ is\ why\ you|la\ incroyable|vous\ n['’]allez\ pas\ (?:le\ )?croire
        |no\ vas\ a\ creer|das\ glaubst\ du|du\ wirst\ nicht\ glauben)\b"""
)
_TEASER = re.compile(
    r"""(?ix)
        [?？؟]["'”’»]?$|(?:…|\.\.\.)$|^(?:\#|ep(?:isode|\.)?\s*\#?|folge\s*|épisode\s*|episodio\s*)\d|:\ (?:how|why
        |what|inside|meet|wie|warum|so|comment|pourquoi|cómo|por\ qué)\b
        |^(?:how|why|what|when|where|who|which|here|this|these
        |those|that|watch|listen|video|podcast|gallery|photos?|pictures?|in\ pictures|in\ photos|opinion|quiz|review
        |interview|explain(?:er|ed)|everything|all\ (?:the|about)|meet|inside|see|read|he|she|they|it|you|your|so|and
        |but
        |(?:\d+|two|three|four|five|six|seven|eight|nine|ten)\ (?:\w+\ ){0,4}
        (?:things|ways|tips|reasons|facts|photos|books|signs|tricks|lessons|steps|questions
        |ideas|mistakes|tools|examples|best|most)|the\ (?:\w+\ ){0,3}(?:best|worst|top|ultimate|complete|definitive)
        |top\ \d+|best\ \w+|wie|warum|weshalb|was|wer|wo|welche\w*|diese\w*|darum|deshalb|video|bilder|kommentar
        |meinung|interview|podcast|die\ besten|\d+\ tipps|comment|pourquoi|quand|quel\w*|voici|voilà|ces?|cette|cet
        |vidéo|entretien|tribune|édito\w*|les?\ meilleur\w*|ce\ qu\w*|cómo|por\ qué|qué|quién\w*|cuál\w*|cuándo
        |dónde|est[aeo]s?|así|vídeo|opinión|entrevista|l[oa]s\ mejores|todo\ lo|come|perché|cosa|chi|quando|ecco
        |quest[aeoi]|como|por\ que|o\ que|quem|veja|confira|est[ae]|hoe|waarom|wat|wie|deze|dit)\b
        |^(?:なぜ|どう|これ|この
        |【動画】|【写真】|动画|为什么|如何|怎么)|(?:方法|とは|理由|まとめ|[何なに]か)$|什么$
        |\b(?:you\ (?:need|should|must|can|will|won['’]t)
        |you(?:['’]ll|['’]re)|your|here(?:['’]s|\ is|\ are)|this\ is|mind-?(?:boggling|blowing)|won['’]t\ believe
        |jaw-dropping|shock(?:ing|s|ed)|unbelievable|incredible|what\ (?:to\ know|happened|it\ means|we\ know|you)
        |(?:shares?|reveals?|explains?|shows?|tells?)\ (?:how|why|what)|what['’]s
        |discuss(?:es)?|details\ (?:her|his|their|its|the|how)|reflects?\ on|recounts?|looks\ back|weighs\ in|told\ by
        |(?:two|three|four|five|six|seven|eight|nine|ten|\d+)\ (?:charts|maps|graphs)|opinião|editorial
        |explained|revealed|the\ secrets?\ (?:of|to)|goes\ viral|internet\ reacts|in\ (?:photos|pictures|charts|maps
        |numbers)|photos?\ of\ the)\b"""
)
_STATEMENT_WORDS = re.compile(
    r"""(?x)
        \b(?:is|are|was|were|be|been|has|have|had|will|would|can|could|may|might|must|should|won['’]t|isn['’]t
        |aren['’]t|can['’]t|doesn['’]t|don['’]t|didn['’]t|wasn['’]t|does|do|did|says?|said|not
        |gets?|got|makes?|made|takes?|took|wins?|won|kills?|dies|dead|dies|hits?|sets?|puts?|cuts?|goes|went|gives?
        |gave|finds?|found|leaves?|left|loses?|lost|seeks?|faces?|rises?|rose|falls?|fell|grows?|grew|builds?|built
        |sells?|sold|sues?|bans?|backs?|meets?|met|holds?|held|keeps?|kept|leads?|led|begins?|began|becomes?|became
        |buys?|bought|calls|calls?\ (?:for|on|to|off|it)
        |plans?|urges?|warns?|vows?|votes?|opens?|closes?|ends?|starts?|stops?|turns?|moves?
        |runs?|ran|shows?|tells?|told|sees?|saw|brings?|brought|breaks?|broke|beats?|draws?|drew|drops?|joins?
        |reach(?:es)?|agrees?|wraps?\ up|accepts?|approves?|rejects?|remains?|continues?|identif(?:y|ies)|announces?
        |confirms?|den(?:y|ies)|threatens?|resumes?|celebrates?|gathers?|mourns?|flees?|survives?|receives?|refuses?
        |launch(?:es)?|adds?|lit|sent|spent|paid|heard|felt|flew|threw|drove|wrote|spoke|chose|froze|stole|sank
        |swept|caught|sought|thought|fought|shot|shook|hurt|split|quit|struck|spread|shut|now|out|available
        |[a-z]{3,}ed|[a-z]{2,}ing\ (?:to|for|in|with|under|on|at|from|into)|[a-z]{3,}(?:es
        |[bdgklmnprtwy]s)\ (?!
        (?:of|and|or|on|for|from|to|vs|are|were|that|who|which|we|i|with|without|by|about)\b))\b"""
)
# With its case: "to" of an infinitive is written small in a title too.
_INFINITIVE = re.compile(r"\bto (?!the\b|our\b|your\b|his\b|her\b|its\b|their\b)[a-z]{3,}\b")
_NOUN_PHRASE = re.compile(
    r"[A-Z][a-z]+ing (?:an?|the|my|our|your|with|for|in|on|to|of|at) "
    r"|(?:Building|Making|Creating|Unlocking|Advancing|Strengthening|Empowering|Shaping) "
    r"|(?:The|An?)\s(?:[\w’'-]+\s){1,5}(?:that|who|which)\b"
)
# "New device could one day help doctors", "New features in the browser", "Rachel Reid, the author whose books sell".
_VAGUE = re.compile(
    r"(?:(?:A |The )?[Nn]ew|Scientists|Researchers|Experts|Study:?|Science)\s[a-z][\w ’'-]*\b(?:could|may|might|can)\b"
    r"|New (?:features?|releases?|versions?|integrations?|options?|ways?) (?:in|of|for|to)\b|.*\b[Ff]eatures$"
    r"|.*:\s[Aa]n?\s(?:(?:quick|first|closer|brief|short)\s)?(?:look|introduction|overview|primer|tour)$"
    r"|(?:[A-ZÀ-Þ][\w’'-]*\s){1,3}?[A-ZÀ-Þ][\w’'-]*,\s(?:the|an?)\s[^,]*\b(?:who|whose|that|which|behind)\b"
)
# "Apple Earnings, Supply Chain Speculation, China and Industrial Design"
_NAMES = r"[A-Z][\w’'-]*(?:\s[A-Z][\w’'-]*){0,3}"
_LIST = re.compile(rf"{_NAMES}(?:,\s{_NAMES})+,?\sand\s{_NAMES}")
_DESCRIPTION = re.compile(r"(?:\s[–—|-]+|:)\s")
_TIME_BOUND = re.compile(
    r"""(?ix)
        \b(?:today|yesterday|tomorrow|tonight|(?:last|next|this)\ (?:week|weekend|month|morning|evening|afternoon|night)
        |heute|gestern|(?:diese|nächste|letzte)\ Woche|aujourd['’]hui|hier|demain|cette\ semaine|hoy|ayer|esta\ semana
        |oggi|ieri|domani|questa\ settimana|hoje|ontem|amanhã|vandaag|gisteren|deze\ week)\b
        |今日|昨日|明日|本日|今天|昨天|明天"""
)
_MIN_WORDS, _MIN_WORDS_WITHOUT_VERB = 5, 6
"""Words of a title that states something: in English, where a verb is found too, and in other languages."""
_MIN_DESCRIBED_WORDS = 7
"""Words of a title such as "Name – what it is"."""
_MIN_STATEMENT_CHARACTERS = 12


class Flaw(StrEnum):
    """Why a sentence is not quoted on its own."""

    DANGLING = "refers to something outside of it"
    ANNOUNCEMENT = "announces the text instead of saying something"
    ADDRESS = "asks the reader to do something"
    QUESTION = "is a question"
    NESTED_QUOTATION = "is somebody's words without the speaker"
    SPEAKS_AS_GROUP = "says “we”"
    OFFENSIVE = "contains a slur or a swear word"
    LEFTOVER = "contains what is left of markup"
    FRAGMENT = "has no verb"
    EXCLAMATION = "exclaims"
    GENERALITY = "says something of people in general"
    OPINION = "judges without a fact"
    PROMOTION = "praises a product"


class TitleFlaw(StrEnum):
    """Why a title cannot be posted without a quotation, or not at all."""

    NO_STORY = "names a page, not a story"
    OFFENSIVE = "contains a slur or a swear word"
    CLICKBAIT = "is clickbait"
    TEASER = "withholds what it announces"
    NO_STATEMENT = "names a topic and states nothing about it"


UNPOSTABLE_TITLES = frozenset({TitleFlaw.NO_STORY, TitleFlaw.OFFENSIVE, TitleFlaw.CLICKBAIT})
"""Items with such a title are not drafted; the other titles need a quotation."""


class _LanguageRules(NamedTuple):
    dangling_start: re.Pattern[str]
    dangling_words: re.Pattern[str]
    announcement: re.Pattern[str]
    address: re.Pattern[str]
    group: re.Pattern[str]
    speaker: re.Pattern[str]


@cache
def _language_rules(language: str | None) -> _LanguageRules | None:
    """Return the compiled rules of a language, those of English if it is unknown; None if there are none for it."""
    language = language or "en"
    if language not in _DANGLING_STARTS:
        return None
    flags = re.VERBOSE
    return _LanguageRules(
        dangling_start=re.compile(_DANGLING_STARTS[language], flags),
        dangling_words=re.compile(_DANGLING_WORDS[language], flags),
        announcement=re.compile(_ANNOUNCEMENTS[language], flags),
        address=re.compile(_ADDRESSES[language], flags),
        group=re.compile(_GROUPS[language], flags),
        speaker=re.compile(_SPEAKERS[language], flags),
    )


def find_flaw(sentence: str, language: str | None) -> Flaw | None:
    """Return the first reason not to quote `sentence` on its own; None if it reads well alone."""
    return next(_flaws(sentence, language), None)


def _flaws(sentence: str, language: str | None) -> Iterator[Flaw]:
    if _OFFENSIVE.search(sentence.lower()):
        yield Flaw.OFFENSIVE
    if _LEFTOVER_START.match(sentence) or _LEFTOVER.search(sentence):
        yield Flaw.LEFTOVER
    if sentence.rstrip(_MARKS + "’'» )")[-1:] in "?？؟":
        yield Flaw.QUESTION
    if sentence.rstrip(_MARKS + "’'» )")[-1:] in "!！":
        yield Flaw.EXCLAMATION
    if _is_nested_quotation(sentence):
        yield Flaw.NESTED_QUOTATION
    if _PEOPLE.match(sentence) or (_GENERALITY.match(sentence) and not is_specific(sentence, language)):
        yield Flaw.GENERALITY
    yield from _language_flaws(sentence, language)
    if language in {"en", None}:
        yield from _english_flaws(sentence)
    if language == "en" and _is_fragment(sentence):
        yield Flaw.FRAGMENT


def _english_flaws(sentence: str) -> Iterator[Flaw]:
    if _COLLOQUIAL.search(sentence) or (_JUDGEMENT.search(sentence) and not is_specific(sentence, "en")):
        yield Flaw.OPINION
    if _PRAISE.search(sentence.lower()):
        yield Flaw.PROMOTION


def _language_flaws(sentence: str, language: str | None) -> Iterator[Flaw]:
    rules = _language_rules(language)
    if rules is None:
        return
    outside = _QUOTATION.sub("", sentence)
    lowered = outside.lower()
    if rules.announcement.search(lowered):
        yield Flaw.ANNOUNCEMENT
    if rules.address.search(lowered):
        yield Flaw.ADDRESS
    if rules.dangling_start.match(sentence) or rules.dangling_words.search(lowered) or _is_nameless(outside, language):
        yield Flaw.DANGLING
    if rules.group.search(outside):
        yield Flaw.SPEAKS_AS_GROUP


def find_title_flaw(title: str, language: str | None) -> TitleFlaw | None:
    """Return why `title` cannot stand without a quotation; None if it states something by itself."""
    return next(_title_flaws(title, language), None)


def _title_flaws(title: str, language: str | None) -> Iterator[TitleFlaw]:
    if _OFFENSIVE.search(title.lower()):
        yield TitleFlaw.OFFENSIVE
    if _NO_STORY.search(title) or _PROMOTION.search(title):
        yield TitleFlaw.NO_STORY
    if _CLICKBAIT.search(title):
        yield TitleFlaw.CLICKBAIT
    if _TEASER.search(title):
        yield TitleFlaw.TEASER
    if language in {"en", None} and (_VAGUE.match(title) or _LIST.fullmatch(title)):
        yield TitleFlaw.NO_STATEMENT
    if not _states_something(title, language):
        yield TitleFlaw.NO_STATEMENT


def _states_something(title: str, language: str | None) -> bool:
    """Return True if a title has a verb, where verbs are known, or is at least as long as a statement."""
    if language in _CJK:
        return len(title) >= _MIN_STATEMENT_CHARACTERS
    words = len(title.split())
    if language not in {"en", None}:
        return words >= _MIN_WORDS_WITHOUT_VERB
    describes = words >= _MIN_DESCRIBED_WORDS and _DESCRIPTION.search(title) is not None
    # "Comments are back" states something, but nobody knows of what.
    # Neither do "The tram that runs on salt" and "Restoring a lamp that was lost".
    if _NOUN_PHRASE.match(title):
        return False
    return describes or (words >= _MIN_WORDS and _has_verb(title))


def _is_fragment(sentence: str) -> bool:
    """Return True if a sentence has no verb that is known here, as far as its punctuation does not suggest one."""
    has_verb = _has_verb(sentence)
    # A sentence with a full stop more often has a verb that is not known here, unless it is a list.
    if not sentence[-1:].isalnum():
        return not has_verb and sentence.count(",") >= _MIN_LIST_COMMAS
    return not has_verb or _SUBJECT_LINE.match(sentence) is not None


def _has_verb(text: str) -> bool:
    """Return True if English `text` has a word that makes a statement of it."""
    return _STATEMENT_WORDS.search(text.lower()) is not None or _INFINITIVE.search(text) is not None


def has_name_or_number(title: str) -> bool:
    """Return True if an English title has a number, or a word that must be a name.

    In Title Case nothing tells a name from other words but capitals inside of it.
    """
    if _NUMBER.search(title) or _INNER_CAPITAL.search(title):
        return True
    is_title_case = not any(word[0].islower() and len(word) > _MAX_PARTICLE for word in title.split()[1:])
    return not is_title_case and is_specific(title, "en")


def is_specific(text: str, language: str | None) -> bool:
    """Return True if `text` has a number, or a name that is not its first word."""
    # German capitalizes every noun.
    pattern = _NUMBER if language == "de" else _SPECIFIC
    return pattern.search(text) is not None


def is_time_bound(text: str) -> bool:
    """Return True if `text` names a day that only its date tells, such as "today"."""
    return _TIME_BOUND.search(text) is not None


def is_first_person(text: str, language: str | None) -> bool:
    """Return True if `text` says "I" or "my" outside quotation marks, which only its author can say."""
    rules = _language_rules(language)
    return rules is not None and rules.speaker.search(_QUOTATION.sub("", text)) is not None


def is_first_person_plural(text: str) -> bool:
    """Return True if an English `text` says "we" outside quotation marks."""
    return _WE.search(_QUOTATION.sub("", text)) is not None


def _is_nested_quotation(sentence: str) -> bool:
    """Return True if a sentence begins with somebody's words or consists of them: below a name it misattributes."""
    if _OPENS_WITH_QUOTATION.match(sentence):
        return True
    quoted = sum(len(match[0]) for match in _QUOTATION.finditer(sentence))
    return quoted > _MAX_NESTED_SHARE * len(sentence)


def _is_nameless(sentence: str, language: str | None) -> bool:
    """Return True if "he" or "she" comes before any name."""
    pronoun = _NAMELESS.search(sentence) if language in {"en", None} else None
    if pronoun is None:
        return False
    return not any(
        name not in _NOT_NAMES and not name.startswith(("I’", "I'"))
        for name in _CAPITALIZED.findall(sentence[: pronoun.start()])
    )
