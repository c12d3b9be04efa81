package service

import argonaut.Argonaut._
import argonaut.{CodecJson, DecodeJson, EncodeJson}

case class Name(title: String, first: String, last: String)

object Name {
  implicit val codec: CodecJson[Name] = casecodec3(Name.apply, Name.unapply)("title", "first", "last")
}

case class Location(street: String, city: String, state: String, postCode: Int)

object Location {
  // Argonaut's own decoder, which this one hides by its name, takes a number in quotes, too.
  private implicit val IntDecodeJson: DecodeJson[Int] = DecodeJson.optionDecoder(_.number.flatMap(_.toInt), "Int")

  implicit val codec: CodecJson[Location] =
    casecodec4(Location.apply, Location.unapply)("street", "city", "state", "postCode")
}

case class Picture(large: String, medium: String, thumbnail: String)

object Picture {
  implicit val codec: CodecJson[Picture] =
    casecodec3(Picture.apply, Picture.unapply)("large", "medium", "thumbnail")
}

case class Person(
    id: String,
    name: Name,
    gender: String,
    location: Location,
    email: String,
    picture: Option[Picture]
)

object Person {
  implicit val codec: CodecJson[Person] =
    casecodec6(Person.apply, Person.unapply)("id", "name", "gender", "location", "email", "picture")
}

case class PersonList(persons: List[Person], count: Int)

object PersonList {
  implicit val encoder: EncodeJson[PersonList] = jencode2L(PersonList.unapply(_: PersonList).get)("persons", "count")
}

case class PersonLink(p1: Person, p2: Person)

object PersonLink {
  implicit val encoder: EncodeJson[PersonLink] = jencode2L(PersonLink.unapply(_: PersonLink).get)("p1", "p2")
}

case class PersonLinkList(links: List[PersonLink], count: Int)

object PersonLinkList {
  implicit val encoder: EncodeJson[PersonLinkList] =
    jencode2L(PersonLinkList.unapply(_: PersonLinkList).get)("links", "count")
}
