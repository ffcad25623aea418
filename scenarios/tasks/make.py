"""Makes the items of the tasks in this folder: `python scenarios/tasks/make.py`. The same seed gives the same bytes.

Four easy tasks on which a very small model is right in about every second item: sums, copying, word knowledge, and the gap in a series.
Answers are one word or number, so that a few generated tokens are enough. Everything here was written for this project.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

SEED = 20261128
ITEMS = 300
HERE = Path(__file__).resolve().parent


def words(text: str) -> list[str]:
    return text.split()


WORDS = words(
    "apple river stone cloud table green horse paper light glass music water bread house plant night chair dream field ocean train smile "
    "sugar tiger tower voice watch whale wheel woman world wheat beach brush candy chain clock coast cream crown dance eagle earth fruit "
    "giant grape grass heart honey island jewel knife lemon lunch magic metal money mouse nurse onion panda pearl piano pilot pizza queen "
    "radio robot salad scarf sheep shirt skirt snake spoon storm sword teeth thumb truck uncle virus wagon zebra"
)
CAPITALS = (
    "France Paris|Italy Rome|Spain Madrid|Germany Berlin|England London|Ireland Dublin|Portugal Lisbon|Greece Athens|"
    "Austria Vienna|Poland Warsaw|Hungary Budapest|Sweden Stockholm|Norway Oslo|Denmark Copenhagen|Finland Helsinki|Russia Moscow|"
    "Ukraine Kiev|Turkey Ankara|Egypt Cairo|Kenya Nairobi|Nigeria Abuja|Ghana Accra|Morocco Rabat|Ethiopia Addis|Japan Tokyo|"
    "China Beijing|India New|Pakistan Islamabad|Nepal Kathmandu|Thailand Bangkok|Vietnam Hanoi|Indonesia Jakarta|Malaysia Kuala|"
    "Philippines Manila|Australia Canberra|Canada Ottawa|Mexico Mexico|Cuba Havana|Peru Lima|Chile Santiago|Argentina Buenos|"
    "Brazil Brasilia|Colombia Bogota|Venezuela Caracas|Ecuador Quito|Bolivia La|Uruguay Montevideo|Paraguay Asuncion|Iran Tehran|"
    "Iraq Baghdad|Syria Damascus|Lebanon Beirut|Israel Jerusalem|Jordan Amman|Qatar Doha|Afghanistan Kabul|Bangladesh Dhaka|"
    "Cambodia Phnom|Laos Vientiane|Mongolia Ulaanbaatar|Romania Bucharest|Bulgaria Sofia|Serbia Belgrade|Croatia Zagreb|"
    "Slovenia Ljubljana|Slovakia Bratislava|Belgium Brussels|Netherlands Amsterdam|Switzerland Bern|Iceland Reykjavik|"
    "Estonia Tallinn|Latvia Riga|Lithuania Vilnius|Belarus Minsk|Georgia Tbilisi|Armenia Yerevan|Albania Tirana|Cyprus Nicosia|"
    "Malta Valletta|Tunisia Tunis|Algeria Algiers|Libya Tripoli|Sudan Khartoum|Somalia Mogadishu|Uganda Kampala|Tanzania Dodoma|"
    "Zambia Lusaka|Zimbabwe Harare|Angola Luanda|Senegal Dakar|Mali Bamako|Jamaica Kingston|Haiti Port|Panama Panama|"
    "Guatemala Guatemala|Honduras Tegucigalpa|Nicaragua Managua|Scotland Edinburgh|Wales Cardiff"
)
OPPOSITES = (
    "hot cold|big small|up down|left right|fast slow|old young|day night|good bad|happy sad|open closed|high low|hard soft|"
    "light dark|rich poor|strong weak|early late|first last|full empty|wet dry|clean dirty|loud quiet|long short|wide narrow|"
    "thick thin|heavy light|deep shallow|near far|true false|right wrong|easy difficult|cheap expensive|alive dead|sweet sour|"
    "black white|love hate|war peace|win lose|buy sell|push pull|start stop|begin end|enter exit|arrive leave|give take|laugh cry|"
    "remember forget|accept refuse|attack defend|build destroy|increase decrease|inside outside|above below|before after|"
    "always never|more less|many few|most least|same different|front back|top bottom|north south|east west|summer winter|"
    "morning evening|father mother|brother sister|son daughter|king queen|man woman|boy girl|husband wife|uncle aunt|friend enemy|"
    "teacher student|question answer|problem solution|success failure|beginning end|birth death|heaven hell|male female|"
    "public private|ancient modern|brave cowardly|careful careless|polite rude|safe dangerous|sharp blunt|smooth rough|tight loose|"
    "visible invisible|possible impossible|legal illegal|honest dishonest|patient impatient|innocent guilty|major minor|"
    "maximum minimum|positive negative|present absent|simple complex|single married|tall short|victory defeat|wise foolish|"
    "asleep awake|float sink|freeze melt"
)
KINDS = (
    "rose flower|oak tree|salmon fish|eagle bird|dog animal|cat animal|apple fruit|banana fruit|carrot vegetable|potato vegetable|"
    "ant insect|bee insect|snake reptile|lizard reptile|whale mammal|frog amphibian|hammer tool|screwdriver tool|guitar instrument|"
    "piano instrument|violin instrument|gold metal|iron metal|copper metal|oxygen gas|hydrogen gas|water liquid|milk liquid|"
    "football sport|tennis sport|chess game|poker game|red color|blue color|green color|Monday day|Sunday day|July month|"
    "March month|winter season|summer season|France country|Brazil country|Paris city|Tokyo city|Amazon river|Nile river|"
    "Everest mountain|Atlantic ocean|Pacific ocean|Sahara desert|Mars planet|Venus planet|Jupiter planet|car vehicle|truck vehicle|"
    "bus vehicle|chair furniture|table furniture|sofa furniture|shirt clothing|jacket clothing|doctor profession|lawyer profession|"
    "triangle shape|circle shape|square shape|English language|Spanish language|French language|diamond gem|ruby gem|poodle dog|"
    "sparrow bird|penguin bird|tulip flower|daisy flower|pine tree|maple tree|shark fish|tuna fish|wheat grain|rice grain|"
    "basil herb|cinnamon spice|cheddar cheese|coffee drink|tea drink|dollar currency|euro currency|copper metal|sword weapon|"
    "rifle weapon|novel book|dictionary book|waltz dance|ballet dance|sonnet poem|measles disease|malaria disease|hydrogen element"
)
DAYS = words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
MONTHS = words("January February March April May June July August September October November December")
LETTERS = words("A B C D E F G H I J K L M N O P Q R S T U V W X Y Z")
NUMBERS = words("one two three four five six seven eight nine ten eleven twelve")


def pairs(text: str) -> list[tuple[str, str]]:
    return list(dict.fromkeys((asked, answer) for asked, _, answer in (entry.partition(" ") for entry in text.split("|"))))


def sums(source: random.Random) -> Iterator[tuple[str, str]]:
    """Sums and differences of numbers up to 20."""
    while True:
        first, second = source.randint(1, 20), source.randint(1, 20)
        if source.random() < 0.6:
            yield f"{first} + {second} =", str(first + second)
        else:
            high, low = max(first, second), min(first, second)
            yield f"{high} - {low} =", str(high - low)


def copying(source: random.Random) -> Iterator[tuple[str, str]]:
    """The first or the last of a few words."""
    while True:
        chosen = source.sample(WORDS, source.randint(4, 7))
        place = source.choice(("first", "last"))
        yield f"Words: {' '.join(chosen)}. The {place} word is", chosen[0] if place == "first" else chosen[-1]


def knowledge(source: random.Random) -> Iterator[tuple[str, str]]:
    """Capitals, opposites, and what kind of thing something is."""
    found = [(f"The capital of {asked} is", answer) for asked, answer in pairs(CAPITALS)]
    found += [(f"The opposite of {asked} is", answer) for asked, answer in pairs(OPPOSITES)]
    found += [(f"{asked[:1].upper()}{asked[1:]} is a kind of", answer) for asked, answer in pairs(KINDS)]
    source.shuffle(found)
    yield from found


def series(source: random.Random) -> Iterator[tuple[str, str]]:
    """The next of a series: days, months, letters, numbers in words and in digits."""
    while True:
        kind = source.choice((DAYS, MONTHS, LETTERS, NUMBERS, None, None))
        if kind is None:
            first, step = source.randint(1, 60), source.randint(1, 9)
            terms = [str(first + step * place) for place in range(5)]
        else:
            step, first = source.choice((1, 1, 2)), source.randrange(len(kind))
            terms = [kind[(first + step * place) % len(kind)] for place in range(5)]
            if kind in (LETTERS, NUMBERS) and first + step * 4 >= len(kind):
                continue
        yield f"{', '.join(terms[:-1])},", terms[-1]


TASKS = {"sums": sums, "copying": copying, "knowledge": knowledge, "series": series}


def items(name: str) -> list[dict[str, str]]:
    """The items of a task, none twice."""
    found: dict[str, str] = {}
    for asked, answer in TASKS[name](random.Random(f"{SEED}/{name}")):
        found.setdefault(asked, answer)
        if len(found) == ITEMS:
            break
    return [{"asked": asked, "answer": answer} for asked, answer in found.items()]


def lines(name: str) -> str:
    return "".join(json.dumps(item) + "\n" for item in items(name))


if __name__ == "__main__":
    for name in TASKS:
        (HERE / f"{name}.jsonl").write_text(lines(name), encoding="utf-8")
