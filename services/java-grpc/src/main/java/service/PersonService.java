package service;

import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.util.Optional;
import prony.person.PersonOuterClass.Empty;
import prony.person.PersonOuterClass.Person;
import prony.person.PersonOuterClass.PersonId;
import prony.person.PersonOuterClass.PersonLinkList;
import prony.person.PersonOuterClass.PersonList;
import prony.person.PersonServiceGrpc;

final class PersonService extends PersonServiceGrpc.PersonServiceImplBase {
    private final People people;

    PersonService(People people) {
        this.people = people;
    }

    @Override
    public void listPersons(Empty request, StreamObserver<PersonList> observer) {
        reply(observer, people.all());
    }

    @Override
    public void getPerson(PersonId request, StreamObserver<Person> observer) {
        Optional<Person> person = people.find(request.getId());
        if (person.isPresent()) {
            reply(observer, person.get());
        } else {
            observer.onError(Status.NOT_FOUND.withDescription("no such person").asRuntimeException());
        }
    }

    @Override
    public void getPersonLinks(PersonId request, StreamObserver<PersonLinkList> observer) {
        reply(observer, people.linksOf(request.getId()));
    }

    @Override
    public void createPerson(Person request, StreamObserver<Person> observer) {
        if (request.getId().isEmpty()) {
            observer.onError(Status.INVALID_ARGUMENT.withDescription("id is missing").asRuntimeException());
        } else {
            reply(observer, request);
        }
    }

    private static <T> void reply(StreamObserver<T> observer, T message) {
        observer.onNext(message);
        observer.onCompleted();
    }
}
