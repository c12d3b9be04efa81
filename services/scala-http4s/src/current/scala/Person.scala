package service

import io.circe.{Codec, Decoder, Encoder}

case class Name(title: String, first: String, last: String) derives Codec.AsObject

case class Location(street: String, city: String, state: String, postCode: Int)

object Location:
  // circe's own decoder takes a number in quotes, too.
  private given Decoder[Int] = Decoder.decodeInt.validate(_.value.isNumber, "Int")
  given Codec.AsObject[Location] = Codec.AsObject.derived

case class Picture(large: String, medium: String, thumbnail: String) derives Codec.AsObject

case class Person(
    id: String,
    name: Name,
    gender: String,
    location: Location,
    email: String,
    picture: Option[Picture]
) derives Codec.AsObject

case class PersonList(persons: List[Person], count: Int) derives Encoder.AsObject

case class PersonLink(p1: Person, p2: Person) derives Encoder.AsObject

case class PersonLinkList(links: List[PersonLink], count: Int) derives Encoder.AsObject
