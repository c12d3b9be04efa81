package service.current;

import java.util.List;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;
import service.current.PersonRepository.PersonLink;

@RestController
@RequestMapping("/person")
public class PersonController {
    public record PersonList(List<Person> persons, int count) {}

    public record PersonLinkList(List<PersonLink> links, int count) {}

    private final PersonRepository repository;

    public PersonController(PersonRepository repository) {
        this.repository = repository;
    }

    @GetMapping
    public PersonList list() {
        List<Person> persons = repository.findAll();
        return new PersonList(persons, persons.size());
    }

    @GetMapping("/{id}")
    public ResponseEntity<Person> get(@PathVariable String id) {
        return ResponseEntity.of(repository.findById(id));
    }

    @GetMapping("/{id}/links")
    public PersonLinkList links(@PathVariable String id) {
        List<PersonLink> links = repository.findLinks(id);
        return new PersonLinkList(links, links.size());
    }

    @PostMapping
    public Person create(@RequestBody Person person) {
        return person;
    }
}
