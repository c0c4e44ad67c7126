"""Tests for language detection."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.text.language import LANGUAGES, base_language, detect_text_language

SENTENCES = [
    ("en", "The government said on Tuesday that it will not change the law before the end of the year."),
    ("de", "Die Regierung hat am Dienstag angekündigt, dass das Gesetz nicht vor Ende des Jahres geändert wird."),
    ("fr", "Le gouvernement a annoncé mardi que la loi ne sera pas modifiée avant la fin de l’année."),
    ("es", "El gobierno anunció el martes que la ley no se cambiará antes de que termine el año."),
    ("it", "Il governo ha annunciato martedì che la legge non sarà modificata prima della fine dell’anno."),
    ("pt", "O governo anunciou na terça-feira que a lei não será alterada antes do fim do ano."),
    ("nl", "De regering heeft dinsdag aangekondigd dat de wet niet voor het einde van het jaar wordt gewijzigd."),
    ("sv", "Regeringen meddelade på tisdagen att lagen inte kommer att ändras före årets slut, och det är bra."),
    ("da", "Regeringen meddelte tirsdag, at loven ikke bliver ændret før årets udgang, og hvad så, blev der spurgt."),
    ("no", "Regjeringen sa tirsdag at loven ikke blir endret før slutten av året, og hva skjer nå etter det."),
    ("pl", "Rząd ogłosił we wtorek, że ustawa nie zostanie zmieniona do końca roku, ale jest to już pewne."),
    ("cs", "Vláda v úterý oznámila, že zákon se do konce roku nezmění, ale není to podle ní vše."),
    ("fi", "Hallitus ilmoitti tiistaina, että lakia ei muuteta ennen vuoden loppua, mutta se on myös mahdollista."),
    ("tr", "Hükümet salı günü yasanın değişmeyeceğini açıkladı ve bu karar çok önemli bir adım olarak görüldü."),
    ("hu", "A kormány kedden bejelentette, hogy a törvény nem változik az év végéig, de ez még csak a kezdet."),
    ("ro", "Guvernul a anunțat marți că legea nu va fi schimbată până la sfârșitul anului și că este pentru toți."),
    ("id", "Pemerintah mengumumkan pada hari Selasa bahwa undang-undang itu tidak akan diubah dalam tahun ini."),
    ("vi", "Chính phủ cho biết hôm thứ Ba rằng luật này sẽ không được thay đổi trong năm nay và các năm sau."),
    ("ru", "Правительство объявило во вторник, что закон не будет изменён до конца года, но это не всё."),
    ("uk", "Уряд оголосив у вівторок, що закон не буде змінено до кінця року, але це ще не все."),
    ("bg", "Правителството обяви във вторник, че законът няма да се промени до края на годината, но това не е всичко."),
    ("el", "Η κυβέρνηση ανακοίνωσε την Τρίτη ότι ο νόμος δεν θα αλλάξει."),
    ("he", "הממשלה הודיעה ביום שלישי כי החוק לא ישתנה"),
    ("ar", "أعلنت الحكومة يوم الثلاثاء أن القانون لن يتغير قبل نهاية العام"),
    ("fa", "دولت روز سه‌شنبه اعلام کرد که قانون تا پایان سال تغییر نمی‌کند"),
    ("hi", "सरकार ने मंगलवार को कहा कि कानून नहीं बदलेगा"),
    ("th", "รัฐบาลประกาศเมื่อวันอังคารว่ากฎหมายจะไม่เปลี่ยน"),
    ("ja", "政府は火曜日、法律を年末まで変更しないと発表した"),
    ("zh", "政府周二宣布，年底前不会修改法律"),
    ("ko", "정부는 화요일 올해 말까지 법을 바꾸지 않겠다고 발표했다"),
    ("en", "Toyota’s 日本 team says that the new engine is not what it was"),
    ("en", "The team of 日本経済新聞 says that it will not be in the race with us"),
    ("ja", "SQLite 3.51 の新機能とパフォーマンス"),
]

UNSURE = [
    "",
    "SQLite 3.51.0",
    "Los Angeles",
    "Le Monde",
    "🙂🙂🙂",
    "12 345",
    "Kyiv Berlin Paris",
    "Hallo",
    "la",
    "Der Präsident und das Gesetz: the president and the law",
]


@pytest.mark.parametrize(("language", "text"), SENTENCES)
def test_sentence_language_is_detected(language: str, text: str) -> None:
    assert detect_text_language(text) == language


@pytest.mark.parametrize("text", UNSURE)
def test_short_text_has_no_language(text: str) -> None:
    assert detect_text_language(text) is None


def test_detectable_languages_have_names() -> None:
    assert {language for language, _ in SENTENCES} == set(LANGUAGES)


@pytest.mark.parametrize(
    ("tag", "base"), [("en-US", "en"), ("pt_BR", "pt"), (" DE ", "de"), ("nb-NO", "no"), ("", None), (None, None)]
)
def test_base_language_of_tag(tag: str | None, base: str | None) -> None:
    assert base_language(tag) == base


@given(st.text())
def test_no_text_raises(text: str) -> None:
    assert detect_text_language(text) in {None, *LANGUAGES}
