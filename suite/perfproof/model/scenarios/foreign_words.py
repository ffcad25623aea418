"""Words of other languages for sides, metrics and units, as the English ones that mean the same.

Only what is no English word, and nothing that means two things, is in the lists: of two sides one known word is enough.
"""

from __future__ import annotations

import re
from functools import lru_cache

_SIDES = {
    "before": "vorher zuvor davor bisher bisherig bisherige bisheriger avant antes prima före innan før voor voorheen vooraf przed před "
    "önce до было раньше",
    "without": "ohne sans senza zonder utan uten uden bez без",
    "with": "mit avec",
    "old": "alte alter altes alten ancien ancienne anterior viejo vieja vecchio vecchia antigo antiga oude gammal gamla gammel gamle stary "
    "stara stare starý stará eski старый старая старое",
    "original": "ursprünglich ursprüngliche originale originel исходный исходная исходно",
    "baseline": "referenz ausgangswert ausgangslage ausgangsversion référence referencia riferimento referência базовый базовая база",
    "now": "jetzt maintenant ahora adesso agora",
    "after": "nachher danach après después despues dopo depois após efter etter sonra после стало",
    "new": "neu neue neuer neues neuen nouveau nouvelle nuevo nueva nuovo nuova novo nova nieuw nieuwe nya nowy nowa nowe nový nová yeni "
    "новый новая новое",
    "optimized": "optimiert optimierte optimisé optimisée optimizado optimizada ottimizzato ottimizzata otimizado geoptimaliseerd",
    "patched": "gepatcht geändert modifié modifiée modificado modificada corrigé corrigée",
    "this": "dieser diese dieses cette este esta questo questa этот эта",
}
_FIRST = {"sin": "without", "sem": "without", "con": "with", "vor": "before", "nach": "after", "med": "with"}
"""Words that mean this only where another follows: "sin parche", "vor der Änderung"."""
_METRICS = {
    "throughput": "durchsatz débit rendimiento caudal vazão doorvoer genomströmning przepustowość propustnost",
    "latency": "latenz latence latencia latenza latência latentie latens opóźnienie задержка",
    "time": "zeit laufzeit dauer antwortzeit startzeit rechenzeit wartezeit ladezeit temps durée tiempo duración duracion tempo durata "
    "duração tijd duur czas čas süre время",
    "memory": "speicher speicherverbrauch speicherbedarf mémoire memoria memória geheugen minne pamięć paměť память",
    "accuracy": "genauigkeit exactitude exactitud accuratezza acurácia nauwkeurigheid dokładność точность",
    "speed": "geschwindigkeit vitesse velocidad velocità velocidade snelheid hastighet prędkość скорость",
    "errors": "fehler erreurs errores errori erros fouten błędy ошибки",
    "mean": "mittel mittlere mittlerer mittleres mittelwert durchschnitt durchschnittlich durchschnittliche moyenne moyen media medio "
    "promedio média médio gemiddelde gemiddeld średnia średni średnie среднее средняя средний",
    "median": "médiane mediana медиана",
    "requests": "anfragen requêtes solicitudes peticiones richieste requisições verzoeken żądania запросов запросы",
    "tokens": "jetons токенов токены",
    "second": "sekunde seconde segundo secondo seconda seg sekundę секунду",
    "per": "pro par por",
    "maximum": "höchstwert maximal maximale maximum massimo máximo",
    "total": "gesamt gesamte insgesamt totale",
}
_PHRASES = {
    "zeit bis zum ersten token": "time to first token",
    "temps jusqu'au premier jeton": "time to first token",
    "temps au premier token": "time to first token",
    "tiempo hasta el primer token": "time to first token",
    "tempo fino al primo token": "time to first token",
    "tempo até o primeiro token": "time to first token",
    "время до первого токена": "time to first token",
    "пропускная способность": "throughput",
    "taxa de transferência": "throughput",
    "línea base": "baseline",
    "linea base": "baseline",
    "al secondo": "per second",
    "в секунду": "per second",
}
_UNSPACED_SIDES = {
    "before": "修改前 改动前 優化前 优化前 合入前 合并前 變更前 变更前 変更前 修正前 適用前 改善前 导入前 導入前 之前 以前 改前 "
    "前版 변경전 적용전 수정전 최적화전 이전",
    "baseline": "基线 基線 基准 基準 ベースライン 对照 対照 기준 베이스라인",
    "old": "旧版 舊版 原版 原始 原先 原本 従来 从前 기존 원본",
    "without": "未优化 未優化 未修改 未打补丁 なし 없음",
    "after": "修改后 改动后 優化後 优化后 合入后 合并后 變更後 变更后 変更後 修正後 適用後 改善後 导入后 導入後 之后 之後 以后 以後 改后 "
    "变更後 변경후 적용후 수정후 최적화후 이후",
    "new": "新版 本次 今回 신규",
}
_FIRST_SIGN = {"旧": "old", "舊": "old", "新": "new", "本": "this", "此": "this"}
_LAST_SIGN = {"前": "before", "전": "before", "后": "after", "後": "after", "후": "after"}
"""Signs that are a word where a name begins, or ends, with them: "新内核", "合入补丁后"."""
_UNSPACED_METRICS = {
    "ttft": "首字延迟 首字时延 首字耗时 首词延迟 首个token延迟 首token延迟 首token时延 初回トークン時間 "
    "最初のトークンまでの時間 첫토큰지연",
    "throughput": "吞吐量 吞吐率 吞吐 スループット 처리량",
    "latency": "延迟 延遲 时延 時延 延时 レイテンシー レイテンシ 遅延 지연시간 지연",
    "time": "耗时 耗時 用时 用時 时间 時間 时长 実行時間 処理時間 시간",
    "memory": "显存占用 显存 顯存 内存 記憶體 メモリ 메모리",
    "accuracy": "准确率 準確率 正确率 正解率 精度 정확도",
    "error rate": "错误率 錯誤率 エラー率 오류율",
    "mean": "平均值 平均 均值 평균",
    "median": "中位数 中位數 中央値 중앙값",
}
_UNITS = {
    "ms": "мс 毫秒 ミリ秒 밀리초",
    "us": "мкс 微秒 マイクロ秒",
    "s": "сек 秒 초 Sek Sek. сек.",
    "tok/s": "токенов/с ток/с токен/с トークン/秒 tokens/秒 token/秒 토큰/초 jetons/s",
    "req/s": "запросов/с запр/с 请求/秒 リクエスト/秒 요청/초 Anfragen/s requêtes/s peticiones/s solicitudes/s richieste/s",
}


def _by_word(lists: dict[str, str]) -> dict[str, str]:
    return {word: english for english, words in lists.items() for word in words.split()}


_SIDE, _METRIC = _by_word(_SIDES), _by_word(_METRICS)
_UNSPACED_SIDE, _UNSPACED_METRIC, _UNIT = _by_word(_UNSPACED_SIDES), _by_word(_UNSPACED_METRICS), _by_word(_UNITS)
_EAST = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_KOREAN_BLANK = re.compile("(?<=[\uac00-\ud7af]) (?=[전후](?![\uac00-\ud7af]))")
_LAST_WORDS = re.compile(r"(?i)[^\W\d_]+(?=(?:zeit|durchsatz|latenz|dauer|verbrauch)\b)")
"""What stands before the metric in a German compound: Verarbeitungszeit."""


def _any_of(words: dict[str, str]) -> re.Pattern[str]:
    return re.compile("|".join(sorted(map(re.escape, words), key=len, reverse=True)), re.IGNORECASE)


_SIDE_INSIDE, _METRIC_INSIDE, _PHRASE = _any_of(_UNSPACED_SIDE), _any_of(_UNSPACED_METRIC), _any_of(_PHRASES)
_UNIT_INSIDE = re.compile(rf"(?<![^\W\d_])(?:{_any_of(_UNIT).pattern})(?![^\W\d_]|/)|(?<=[0-9])\s?с(?!\w)")
_SIDE_WORDS = ("before", "after", "baseline", "patched", "original", "optimized", "candidate", "previous")
_METRIC_WORDS = ("throughput", "latency", "duration", "memory", "accuracy", "median", "average", "runtime", "perplexity")
LEAST_LETTERS = 5
"""Letters of a word that may be misspelt, at least: a shorter one may be another."""
_WORD = re.compile(r"[^\W\d_]+")


@lru_cache(maxsize=4096)
def side(name: str) -> str:
    """A name of a side in small letters with the words for sides in English, those of East Asia first; any other word stays."""
    lowered = _PHRASE.sub(lambda found: _PHRASES[found[0].casefold()], name.casefold())
    if _EAST.search(lowered):
        return _eastern(_KOREAN_BLANK.sub("", lowered).strip())
    lowered = _WORD.sub(lambda found: _spelt(found[0], _SIDE_WORDS), lowered)
    first, _, rest = lowered.partition(" ")
    lowered = f"{_FIRST[first]} {rest}" if rest and first in _FIRST else lowered
    return _WORD.sub(lambda found: _SIDE.get(found[0], found[0]), lowered)


@lru_cache(maxsize=4096)
def _spelt(word: str, among: tuple[str, ...]) -> str:
    """A word as one of some is spelt, where a single letter is wrong, missing, doubled or in its neighbour's place."""
    lowered = word.casefold()
    if len(lowered) < LEAST_LETTERS or lowered in among:
        return word
    return next((right for right in among if right[0] == lowered[0] and _one_apart(lowered, right)), word)


def _one_apart(one: str, other: str) -> bool:
    if abs(len(one) - len(other)) > 1:
        return False
    at = next((place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), min(len(one), len(other)))
    swapped = one[:at] + one[at + 1 : at + 2] + one[at : at + 1] + one[at + 2 :]
    rests = (one[at + 1 :] == other[at + 1 :], one[at:] == other[at + 1 :], one[at + 1 :] == other[at:])
    return swapped == other or rests[(len(one) < len(other)) + 2 * (len(one) > len(other))]


def _eastern(name: str) -> str:
    if found := _SIDE_INSIDE.search(name):
        return f"{_UNSPACED_SIDE[found[0]]} {name[: found.start()]} {name[found.end() :]}".strip()
    if name[-1:] in _LAST_SIGN:
        return f"{_LAST_SIGN[name[-1]]} {name[:-1]}".strip()
    return f"{_FIRST_SIGN[name[0]]} {name[1:]}" if name[:1] in _FIRST_SIGN else name


@lru_cache(maxsize=4096)
def metric(label: str) -> str:
    """A label with the words for metrics in English; one without any stays as it is."""
    named = _PHRASE.sub(lambda found: _PHRASES[found[0].casefold()], label)
    if _EAST.search(named):
        return _METRIC_INSIDE.sub(lambda word: f" {_UNSPACED_METRIC[word[0].casefold()]} ", named)
    return _WORD.sub(lambda word: _METRIC.get(word[0].casefold()) or _spelt(word[0], _METRIC_WORDS), _LAST_WORDS.sub("", named))


def apart(name: str) -> list[tuple[str, str]]:
    """The ways to part a name without blanks into a side and a metric: "优化前吞吐量" as "优化前" and "吞吐量"."""
    if not _EAST.search(name):
        return []
    ends = [(found[0], name[found.end() :].strip(), name[: found.start()].strip()) for found in _SIDE_INSIDE.finditer(name)]
    return [(word, after or before) for word, after, before in ends if bool(before) != bool(after)]


def units(text: str) -> str:
    """A text whose units of other languages are spelt as they are in English."""
    if text.isascii() and "Sek" not in text and "Anfragen" not in text and "/s" not in text:
        return text
    return _UNIT_INSIDE.sub(lambda found: f"{' ' if found[0][:1].isspace() else ''}{_UNIT.get(found[0].strip(), 's')}", text)


def sides_inside(text: str) -> list[re.Match[str]]:
    """Where words for sides stand in a text without blanks: "优化前吞吐"."""
    return list(_SIDE_INSIDE.finditer(text))
