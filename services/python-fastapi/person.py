"""The people of the person contract."""

from pathlib import Path

from fastapi import APIRouter, HTTPException
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

router = APIRouter(prefix="/person")


class Strict(BaseModel):
    """A number in quotes is not a number, and a number is not a text."""

    model_config = ConfigDict(strict=True)


class Name(Strict):
    title: str
    first: str
    last: str


class Location(Strict):
    street: str
    city: str
    state: str
    postCode: int = Field(ge=-(2**31), lt=2**31)


class Picture(Strict):
    large: str
    medium: str
    thumbnail: str


class Person(Strict):
    id: str
    name: Name
    gender: str
    location: Location
    email: str
    picture: Picture | None = None


class PersonLink(BaseModel):
    p1: Person
    p2: Person


class PersonList(BaseModel):
    persons: list[Person]
    count: int


class PersonLinkList(BaseModel):
    links: list[PersonLink]
    count: int


everybody = TypeAdapter(list[Person]).validate_json(Path(__file__).with_name("persons.json").read_bytes())
persons = {person.id: person for person in everybody}
links = [PersonLink(p1=persons[p1], p2=persons[p2]) for p1, p2 in (("1", "2"), ("1", "3"), ("2", "3"), ("4", "1"))]


@router.get("", response_model_exclude_none=True)
async def list_persons() -> PersonList:
    return PersonList(persons=list(persons.values()), count=len(persons))


@router.get("/{id}", response_model_exclude_none=True)
async def get_person(id: str) -> Person:
    if id not in persons:
        raise HTTPException(404)
    return persons[id]


@router.get("/{id}/links", response_model_exclude_none=True)
async def get_person_links(id: str) -> PersonLinkList:
    found = [link for link in links if id in (link.p1.id, link.p2.id)]
    return PersonLinkList(links=found, count=len(found))


@router.post("", response_model_exclude_none=True)
async def create_person(person: Person) -> Person:
    return person
