package service

import io.circe.generic.semiauto.{deriveCodec, deriveEncoder}
import io.circe.{Codec, Decoder, Encoder}

case class Name(title: String, first: String, last: String)

object Name {
  implicit val codec: Codec[Name] = deriveCodec
}

case class Location(street: String, city: String, state: String, postCode: Int)

object Location {
  // circe's own decoder takes a number in quotes, too.
  private implicit val number: Decoder[Int] = Decoder.decodeInt.validate(_.value.isNumber, "Int")
  implicit val codec: Codec[Location] = deriveCodec
}

case class Picture(large: String, medium: String, thumbnail: String)

object Picture {
  implicit val codec: Codec[Picture] = deriveCodec
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
  implicit val codec: Codec[Person] = deriveCodec
}

case class PersonList(persons: List[Person], count: Int)

object PersonList {
  implicit val encoder: Encoder[PersonList] = deriveEncoder
}

case class PersonLink(p1: Person, p2: Person)

object PersonLink {
  implicit val encoder: Encoder[PersonLink] = deriveEncoder
}

case class PersonLinkList(links: List[PersonLink], count: Int)

object PersonLinkList {
  implicit val encoder: Encoder[PersonLinkList] = deriveEncoder
}
