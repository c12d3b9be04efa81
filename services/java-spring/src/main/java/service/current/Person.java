package service.current;

import static java.util.Objects.requireNonNull;

import com.fasterxml.jackson.annotation.JsonInclude;

/** Every member is required but the picture: a body that lacks one is a 400. */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record Person(String id, Name name, String gender, Location location, String email, Picture picture) {
    public Person {
        requireNonNull(id, "id");
        requireNonNull(name, "name");
        requireNonNull(gender, "gender");
        requireNonNull(location, "location");
        requireNonNull(email, "email");
    }

    public record Name(String title, String first, String last) {
        public Name {
            requireNonNull(title, "title");
            requireNonNull(first, "first");
            requireNonNull(last, "last");
        }
    }

    public record Location(String street, String city, String state, Integer postCode) {
        public Location {
            requireNonNull(street, "street");
            requireNonNull(city, "city");
            requireNonNull(state, "state");
            requireNonNull(postCode, "postCode");
        }
    }

    public record Picture(String large, String medium, String thumbnail) {
        public Picture {
            requireNonNull(large, "large");
            requireNonNull(medium, "medium");
            requireNonNull(thumbnail, "thumbnail");
        }
    }
}
