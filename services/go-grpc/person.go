package main

import (
	"context"
	_ "embed"
	"fmt"
	"log"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"go-grpc/personpb"
)

//go:embed persons.json
var personsJSON []byte

var (
	people  = readPeople()
	persons = people.Persons
	links   = []*personpb.PersonLink{
		{P1: persons[0], P2: persons[1]},
		{P1: persons[0], P2: persons[2]},
		{P1: persons[1], P2: persons[2]},
		{P1: persons[3], P2: persons[0]},
	}
)

func readPeople() *personpb.PersonList {
	people := &personpb.PersonList{}
	if err := protojson.Unmarshal(fmt.Appendf(nil, `{"persons": %s}`, personsJSON), people); err != nil {
		log.Fatal(err)
	}
	people.Count = int32(len(people.Persons))
	return people
}

type personService struct {
	personpb.UnimplementedPersonServiceServer
}

func (*personService) ListPersons(context.Context, *personpb.Empty) (*personpb.PersonList, error) {
	return people, nil
}

func (*personService) GetPerson(_ context.Context, id *personpb.PersonId) (*personpb.Person, error) {
	for _, person := range persons {
		if person.Id == id.Id {
			return person, nil
		}
	}
	return nil, status.Error(codes.NotFound, "no person has this id")
}

func (*personService) GetPersonLinks(_ context.Context, id *personpb.PersonId) (*personpb.PersonLinkList, error) {
	list := &personpb.PersonLinkList{}
	for _, link := range links {
		if link.P1.Id == id.Id || link.P2.Id == id.Id {
			list.Links = append(list.Links, link)
		}
	}
	list.Count = int32(len(list.Links))
	return list, nil
}

func (*personService) CreatePerson(_ context.Context, person *personpb.Person) (*personpb.Person, error) {
	if person.Id == "" {
		return nil, status.Error(codes.InvalidArgument, "the person has no id")
	}
	return person, nil
}
