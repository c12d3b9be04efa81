package service;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Controller;
import org.springframework.ui.Model;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;

@Controller
public class FortunesController {
    public record Fortune(int id, String message) {}

    /** Texts of Java compare by halves of surrogate pairs. */
    private static final Comparator<Fortune> BY_CODE_POINTS =
            Comparator.comparing(fortune -> fortune.message().codePoints().toArray(), Arrays::compare);

    private final JdbcClient database;

    public FortunesController(JdbcClient database) {
        this.database = database;
    }

    @GetMapping("/fortunes")
    public String fortunes(@RequestParam String nonce, Model model) {
        List<Fortune> fortunes = new ArrayList<>(
                database.sql("select id, message from fortune").query(Fortune.class).list());
        fortunes.add(new Fortune(0, "Additional fortune: " + nonce));
        fortunes.sort(BY_CODE_POINTS);
        model.addAttribute("fortunes", fortunes);
        return "fortunes";
    }
}
