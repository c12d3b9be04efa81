package service;

import com.google.protobuf.TextFormat;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import prony.person.PersonOuterClass.Person;
import prony.person.PersonOuterClass.PersonLink;
import prony.person.PersonOuterClass.PersonLinkList;
import prony.person.PersonOuterClass.PersonList;

/** The fixed people of the contract and how they are linked. */
record People(PersonList all, List<PersonLink> links) {
    static People load() throws IOException {
        try (Reader reader = new InputStreamReader(
                People.class.getResourceAsStream("/people.txtpb"), StandardCharsets.UTF_8)) {
            PersonList.Builder builder = PersonList.newBuilder();
            TextFormat.merge(reader, builder);
            PersonList all = builder.build();
            return new People(all, List.of(link(all, 1, 2), link(all, 1, 3), link(all, 2, 3), link(all, 4, 1)));
        }
    }

    private static PersonLink link(PersonList all, int p1, int p2) {
        return PersonLink.newBuilder()
                .setP1(all.getPersons(p1 - 1))
                .setP2(all.getPersons(p2 - 1))
                .build();
    }

    Optional<Person> find(String id) {
        return all.getPersonsList().stream().filter(person -> person.getId().equals(id)).findFirst();
    }

    PersonLinkList linksOf(String id) {
        List<PersonLink> found = links.stream()
                .filter(link -> link.getP1().getId().equals(id) || link.getP2().getId().equals(id))
                .toList();
        return PersonLinkList.newBuilder().addAllLinks(found).setCount(found.size()).build();
    }
}
