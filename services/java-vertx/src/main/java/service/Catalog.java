package service;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.RoutingContext;

/** A shop's items, each computed from its number. */
final class Catalog {
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

    static void answer(RoutingContext context) {
        int from = number(context.queryParams().get("from"), 1_000_000);
        int count = number(context.queryParams().get("count"), 500);
        if (from == 0 || count == 0) {
            context.response().setStatusCode(400).end();
            return;
        }
        JsonArray items = new JsonArray();
        for (int id = from; id < from + count; id++) {
            items.add(item(id));
        }
        // Netty compresses, and leaves it to us to say that it depends on the request.
        context.response().putHeader("Vary", "Accept-Encoding");
        context.json(new JsonObject().put("items", items));
    }

    /** The number from 1 to `most` that the text is, or 0. */
    private static int number(String text, int most) {
        int number = text != null && text.matches("[0-9]{1,7}") ? Integer.parseInt(text) : 0;
        return number <= most ? number : 0;
    }

    private static JsonObject item(int id) {
        String name = ADJECTIVES[id % 16] + " " + NOUNS[id / 16 % 16];
        return new JsonObject()
                .put("id", id)
                .put("name", name + " " + id)
                .put("price", id * 37 % 9900 + 100)
                .put("tags", JsonArray.of(TAGS[id % 20], TAGS[(id + 7) % 20], TAGS[(id + 13) % 20]))
                .put("description", description(id, name));
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
