"""The people of the person contract."""

from fastapi import APIRouter, HTTPException
from pydantic import BaseModel, ConfigDict, Field

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


def picture(file: str) -> Picture:
    portraits = "https://randomuser.me/api/portraits/"
    return Picture(
        large=f"{portraits}{file}.jpg",
        medium=f"{portraits}med/{file}.jpg",
        thumbnail=f"{portraits}thumb/{file}.jpg",
    )


romain = Person(
    id="1",
    name=Name(title="mr", first="romain", last="hoogmoed"),
    gender="male",
    location=Location(
        street="1861 jan pieterszoon coenstraat", city="maasdriel", state="zeeland", postCode=69217
    ),
    email="romain.hoogmoed@example.com",
)
morgane = Person(
    id="2",
    name=Name(title="mademoiselle", first="morgane", last="lefebvre"),
    gender="female",
    location=Location(
        street="2260 rue de gerland", city="vucherens", state="graubünden", postCode=2877
    ),
    email="morgane.lefebvre@example.com",
    picture=picture("women/62"),
)
eva = Person(
    id="3",
    name=Name(title="ms", first="eva", last="snyder"),
    gender="female",
    location=Location(street="8534 grove road", city="mallow", state="clare", postCode=18863),
    email="eva.snyder@example.com",
    picture=picture("women/84"),
)
elliot = Person(
    id="4",
    name=Name(title="monsieur", first="elliot", last="bertrand"),
    gender="male",
    location=Location(
        street="2557 rue abel", city="tolochenaz", state="graubünden", postCode=4629
    ),
    email="elliot.bertrand@example.com",
    picture=picture("men/30"),
)

persons = {person.id: person for person in (romain, morgane, eva, elliot)}
links = [
    PersonLink(p1=p1, p2=p2)
    for p1, p2 in ((romain, morgane), (romain, eva), (morgane, eva), (elliot, romain))
]


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
