package main

import (
	_ "embed"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"reflect"
	"strings"
)

// The fields are pointers so that a member that is missing differs from an empty one.
type Person struct {
	ID       *string   `json:"id"`
	Name     *Name     `json:"name"`
	Gender   *string   `json:"gender"`
	Location *Location `json:"location"`
	Email    *string   `json:"email"`
	Picture  *Picture  `json:"picture,omitempty"`
}

type Name struct {
	Title *string `json:"title"`
	First *string `json:"first"`
	Last  *string `json:"last"`
}

type Location struct {
	Street   *string `json:"street"`
	City     *string `json:"city"`
	State    *string `json:"state"`
	PostCode *int32  `json:"postCode"`
}

type Picture struct {
	Large     *string `json:"large"`
	Medium    *string `json:"medium"`
	Thumbnail *string `json:"thumbnail"`
}

type PersonList struct {
	Persons []*Person `json:"persons"`
	Count   int       `json:"count"`
}

type PersonLink struct {
	P1 *Person `json:"p1"`
	P2 *Person `json:"p2"`
}

type PersonLinkList struct {
	Links []PersonLink `json:"links"`
	Count int          `json:"count"`
}

//go:embed persons.json
var personsJSON []byte

var (
	people  = readPeople()
	persons = people.Persons
	links   = []PersonLink{
		{persons[0], persons[1]},
		{persons[0], persons[2]},
		{persons[1], persons[2]},
		{persons[3], persons[0]},
	}
)

func readPeople() (people PersonList) {
	if err := json.Unmarshal(personsJSON, &people); err != nil {
		log.Fatal(err)
	}
	return people
}

func listPersons(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, people)
}

func getPerson(w http.ResponseWriter, r *http.Request) {
	for _, person := range persons {
		if *person.ID == r.PathValue("id") {
			writeJSON(w, person)
			return
		}
	}
	http.Error(w, "no person has this id", http.StatusNotFound)
}

func getPersonLinks(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	list := PersonLinkList{Links: []PersonLink{}}
	for _, link := range links {
		if *link.P1.ID == id || *link.P2.ID == id {
			list.Links = append(list.Links, link)
		}
	}
	list.Count = len(list.Links)
	writeJSON(w, list)
}

func createPerson(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var person Person
	if err := json.Unmarshal(body, &person); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if !complete(reflect.ValueOf(person)) {
		http.Error(w, "a member is missing", http.StatusBadRequest)
		return
	}
	writeJSON(w, person)
}

// complete tells whether every member that has no omitempty is there, nested ones too.
func complete(record reflect.Value) bool {
	for i := range record.NumField() {
		member := record.Field(i)
		if member.IsNil() {
			if !strings.Contains(string(record.Type().Field(i).Tag), "omitempty") {
				return false
			}
		} else if member.Elem().Kind() == reflect.Struct && !complete(member.Elem()) {
			return false
		}
	}
	return true
}

func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(value)
}
