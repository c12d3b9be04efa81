package main

import (
	_ "embed"
	"encoding/json"
	"io"
	"log"
	"net/http"
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
	persons = readPersons()
	people  = PersonList{Persons: persons, Count: len(persons)}
	links   = []PersonLink{
		{persons[0], persons[1]},
		{persons[0], persons[2]},
		{persons[1], persons[2]},
		{persons[3], persons[0]},
	}
)

func readPersons() (persons []*Person) {
	if err := json.Unmarshal(personsJSON, &persons); err != nil {
		log.Fatal(err)
	}
	return persons
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
	if !person.complete() {
		http.Error(w, "a member is missing", http.StatusBadRequest)
		return
	}
	writeJSON(w, person)
}

// complete tells whether every member is there that must be, nested ones too.
func (p *Person) complete() bool {
	return p.ID != nil && p.Gender != nil && p.Email != nil &&
		p.Name != nil && p.Name.Title != nil && p.Name.First != nil && p.Name.Last != nil &&
		p.Location != nil && p.Location.Street != nil && p.Location.City != nil &&
		p.Location.State != nil && p.Location.PostCode != nil &&
		(p.Picture == nil || p.Picture.Large != nil && p.Picture.Medium != nil && p.Picture.Thumbnail != nil)
}

func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(value)
}
