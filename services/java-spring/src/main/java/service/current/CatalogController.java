package service.current;

import java.util.List;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

@RestController
public class CatalogController {
    public record Items(List<Catalog.Item> items) {}

    @GetMapping("/catalog")
    public Items catalog(@RequestParam String from, @RequestParam String count) {
        return new Items(Catalog.items(number(from, 1_000_000), number(count, 500)));
    }

    /** Spring's own conversion takes 0x10 for a number. */
    private static int number(String text, int most) {
        int number = text.matches("[0-9]{1,7}") ? Integer.parseInt(text) : 0;
        if (number < 1 || number > most) {
            throw new ResponseStatusException(HttpStatus.BAD_REQUEST);
        }
        return number;
    }
}
