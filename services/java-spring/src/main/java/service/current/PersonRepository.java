package service.current;

import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Optional;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.core.io.Resource;
import org.springframework.stereotype.Repository;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.json.JsonMapper;

@Repository
public class PersonRepository {
    public record PersonLink(Person p1, Person p2) {}

    private final List<Person> persons;
    private final List<PersonLink> links;

    public PersonRepository(JsonMapper json, @Value("classpath:persons.json") Resource file) throws IOException {
        try (InputStream people = file.getInputStream()) {
            persons = json.readValue(people, new TypeReference<List<Person>>() {});
        }
        links = List.of(link(0, 1), link(0, 2), link(1, 2), link(3, 0));
    }

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

    private PersonLink link(int p1, int p2) {
        return new PersonLink(persons.get(p1), persons.get(p2));
    }
}
