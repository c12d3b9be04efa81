package service;

import java.util.List;
import java.util.Optional;

/** An item of a shop, computed from its number. */
record Item(int id, String name, int price, List<String> tags) {
    private static final int LARGEST_ID = 1_000_000;
    private static final String[] ADJECTIVES =
            words("amber brisk calm dusty eager faint gentle hollow ivory jolly keen lively mellow noble olive plain");
    private static final String[] NOUNS =
            words("anchor basket candle drum easel flask globe hammer inkwell jar kettle lantern mirror needle oar pillow");
    private static final String[] TAGS = words("attic bath cellar desk entry fire garden hall indoor junior kitchen lamp"
            + " modern night office patio quiet rustic shelf travel");

    /** The item with a number from 1 to LARGEST_ID. */
    static Optional<Item> find(long number) {
        if (number < 1 || number > LARGEST_ID) {
            return Optional.empty();
        }
        int id = (int) number;
        String name = ADJECTIVES[id % 16] + " " + NOUNS[id / 16 % 16] + " " + id;
        List<String> tags = List.of(TAGS[id % 20], TAGS[(id + 7) % 20], TAGS[(id + 13) % 20]);
        return Optional.of(new Item(id, name, id * 37 % 9900 + 100, tags));
    }

    String costs() {
        return name + " costs " + price;
    }

    private static String[] words(String text) {
        return text.split(" ");
    }
}
