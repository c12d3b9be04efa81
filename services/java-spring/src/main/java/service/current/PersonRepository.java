package service.current;

import java.util.List;
import java.util.Optional;
import org.springframework.stereotype.Repository;
import service.current.Person.Location;
import service.current.Person.Name;
import service.current.Person.Picture;

@Repository
public class PersonRepository {
    public record PersonLink(Person p1, Person p2) {}

    private static final String PORTRAITS = "https://randomuser.me/api/portraits/";

    private static final Person ROMAIN = new Person(
            "1",
            new Name("mr", "romain", "hoogmoed"),
            "male",
            new Location("1861 jan pieterszoon coenstraat", "maasdriel", "zeeland", 69217),
            "romain.hoogmoed@example.com",
            null);
    private static final Person MORGANE = new Person(
            "2",
            new Name("mademoiselle", "morgane", "lefebvre"),
            "female",
            new Location("2260 rue de gerland", "vucherens", "graubünden", 2877),
            "morgane.lefebvre@example.com",
            picture("women/62"));
    private static final Person EVA = new Person(
            "3",
            new Name("ms", "eva", "snyder"),
            "female",
            new Location("8534 grove road", "mallow", "clare", 18863),
            "eva.snyder@example.com",
            picture("women/84"));
    private static final Person ELLIOT = new Person(
            "4",
            new Name("monsieur", "elliot", "bertrand"),
            "male",
            new Location("2557 rue abel", "tolochenaz", "graubünden", 4629),
            "elliot.bertrand@example.com",
            picture("men/30"));

    private final List<Person> persons = List.of(ROMAIN, MORGANE, EVA, ELLIOT);
    private final List<PersonLink> links = List.of(
            new PersonLink(ROMAIN, MORGANE),
            new PersonLink(ROMAIN, EVA),
            new PersonLink(MORGANE, EVA),
            new PersonLink(ELLIOT, ROMAIN));

    public List<Person> findAll() {
        return persons;
    }

    public Optional<Person> findById(String id) {
        return persons.stream().filter(person -> person.id().equals(id)).findFirst();
    }

    public List<PersonLink> findLinks(String id) {
        return links.stream()
                .filter(link -> link.p1().id().equals(id) || link.p2().id().equals(id))
                .toList();
    }

    private static Picture picture(String file) {
        return new Picture(
                PORTRAITS + file + ".jpg", PORTRAITS + "med/" + file + ".jpg", PORTRAITS + "thumb/" + file + ".jpg");
    }
}
