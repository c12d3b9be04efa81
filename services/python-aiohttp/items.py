"""A shop's items, each computed from its number."""

ADJECTIVES = "amber brisk calm dusty eager faint gentle hollow ivory jolly keen lively mellow noble olive plain".split()
NOUNS = "anchor basket candle drum easel flask globe hammer inkwell jar kettle lantern mirror needle oar pillow".split()
TAGS = (
    "attic bath cellar desk entry fire garden hall indoor junior kitchen lamp modern night office patio quiet rustic"
    " shelf travel"
).split()
MATERIALS = "ash brass clay cork cotton felt glass iron jute leather linen marble oak paper steel wool".split()
CITIES = "Århus Bern Córdoba Dublin Évora Fès Gdańsk Helsinki Iași Jerez Kraków Łódź München Nîmes 大阪 Zürich".split()


def item(i):
    name = f"{ADJECTIVES[i % 16]} {NOUNS[i // 16 % 16]}"
    return {
        "id": i,
        "name": f"{name} {i}",
        "price": i * 37 % 9900 + 100,
        "tags": [TAGS[i % 20], TAGS[(i + 7) % 20], TAGS[(i + 13) % 20]],
        "description": (
            f"The {name} no. {i} is made of {MATERIALS[i * 7 % 16]}, weighs {i * 53 % 4900 + 100} g and ships from"
            f" {CITIES[i * 11 % 16]} within {i % 7 + 1} days. Customers who bought it also bought the"
            f' "{ADJECTIVES[(i + 5) % 16]} {NOUNS[(i + 3) % 16]}" & rate it <{i % 5 + 1} of 5>.'
        ),
    }
