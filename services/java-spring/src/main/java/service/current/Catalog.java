package service.current;

import java.util.List;
import java.util.stream.IntStream;

/** A shop's items, each computed from its number. */
final class Catalog {
    record Item(int id, String name, int price, List<String> tags, String description) {}

    private static final String[] ADJECTIVES =
            words("amber brisk calm dusty eager faint gentle hollow ivory jolly keen lively mellow noble olive plain");
    private static final String[] NOUNS =
            words("anchor basket candle drum easel flask globe hammer inkwell jar kettle lantern mirror needle oar pillow");
    private static final String[] TAGS = words("attic bath cellar desk entry fire garden hall indoor junior kitchen lamp"
            + " modern night office patio quiet rustic shelf travel");
    private static final String[] MATERIALS =
            words("ash brass clay cork cotton felt glass iron jute leather linen marble oak paper steel wool");
    private static final String[] CITIES = words(
            "Århus Bern Córdoba Dublin Évora Fès Gdańsk Helsinki Iași Jerez Kraków Łódź München Nîmes 大阪 Zürich");

    private Catalog() {}

    static List<Item> items(int from, int count) {
        return IntStream.range(from, from + count).mapToObj(Catalog::item).toList();
    }

    private static Item item(int id) {
        String name = ADJECTIVES[id % 16] + " " + NOUNS[id / 16 % 16];
        return new Item(id, name + " " + id, id * 37 % 9900 + 100, tags(id), description(id, name));
    }

    private static List<String> tags(int id) {
        return List.of(TAGS[id % 20], TAGS[(id + 7) % 20], TAGS[(id + 13) % 20]);
    }

    private static String description(int id, String name) {
        return "The " + name + " no. " + id + " is made of " + MATERIALS[id * 7 % 16] + ", weighs " + (id * 53 % 4900 + 100)
                + " g and ships from " + CITIES[id * 11 % 16] + " within " + (id % 7 + 1)
                + " days. Customers who bought it also bought the \"" + ADJECTIVES[(id + 5) % 16] + " "
                + NOUNS[(id + 3) % 16] + "\" & rate it <" + (id % 5 + 1) + " of 5>.";
    }

    private static String[] words(String text) {
        return text.split(" ");
    }
}
