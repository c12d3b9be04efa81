"""A shop's items, each computed from its number."""

LARGEST_ID = 1_000_000

ADJECTIVES = "amber brisk calm dusty eager faint gentle hollow ivory jolly keen lively mellow noble olive plain".split()
NOUNS = "anchor basket candle drum easel flask globe hammer inkwell jar kettle lantern mirror needle oar pillow".split()
TAGS = (
    "attic bath cellar desk entry fire garden hall indoor junior kitchen lamp modern night office patio quiet rustic"
    " shelf travel"
).split()


def find(i):
    """The item with a number from 1 to LARGEST_ID, or None."""
    if not 1 <= i <= LARGEST_ID:
        return None
    return {
        "id": i,
        "name": f"{ADJECTIVES[i % 16]} {NOUNS[i // 16 % 16]} {i}",
        "price": i * 37 % 9900 + 100,
        "tags": [TAGS[i % 20], TAGS[(i + 7) % 20], TAGS[(i + 13) % 20]],
    }
