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

object People {
  private val romain = Person(
    "1",
    Name("mr", "romain", "hoogmoed"),
    "male",
    Location("1861 jan pieterszoon coenstraat", "maasdriel", "zeeland", 69217),
    "romain.hoogmoed@example.com",
    None
  )
  private val morgane = Person(
    "2",
    Name("mademoiselle", "morgane", "lefebvre"),
    "female",
    Location("2260 rue de gerland", "vucherens", "graubünden", 2877),
    "morgane.lefebvre@example.com",
    Some(picture("women/62"))
  )
  private val eva = Person(
    "3",
    Name("ms", "eva", "snyder"),
    "female",
    Location("8534 grove road", "mallow", "clare", 18863),
    "eva.snyder@example.com",
    Some(picture("women/84"))
  )
  private val elliot = Person(
    "4",
    Name("monsieur", "elliot", "bertrand"),
    "male",
    Location("2557 rue abel", "tolochenaz", "graubünden", 4629),
    "elliot.bertrand@example.com",
    Some(picture("men/30"))
  )

  val all: List[Person] = List(romain, morgane, eva, elliot)

  val links: List[PersonLink] = List(
    PersonLink(romain, morgane),
    PersonLink(romain, eva),
    PersonLink(morgane, eva),
    PersonLink(elliot, romain)
  )

  private def picture(file: String): Picture = {
    val portraits = "https://randomuser.me/api/portraits"
    Picture(s"$portraits/$file.jpg", s"$portraits/med/$file.jpg", s"$portraits/thumb/$file.jpg")
  }
}
