package service

/** An item of a shop, computed from its number. */
data class Item(val id: Int, val name: String, val price: Int, val tags: List<String>)

private const val LARGEST_ID = 1_000_000

private val adjectives =
    "amber brisk calm dusty eager faint gentle hollow ivory jolly keen lively mellow noble olive plain".split(" ")
private val nouns =
    "anchor basket candle drum easel flask globe hammer inkwell jar kettle lantern mirror needle oar pillow".split(" ")
private val labels =
    ("attic bath cellar desk entry fire garden hall indoor junior kitchen lamp modern night office patio quiet rustic " +
        "shelf travel").split(" ")

/** The item with a number from 1 to LARGEST_ID. */
fun findItem(id: Int): Item? =
    if (id !in 1..LARGEST_ID) {
        null
    } else {
        Item(
            id = id,
            name = "${adjectives[id % 16]} ${nouns[id / 16 % 16]} $id",
            price = id * 37 % 9900 + 100,
            tags = listOf(labels[id % 20], labels[(id + 7) % 20], labels[(id + 13) % 20]),
        )
    }
