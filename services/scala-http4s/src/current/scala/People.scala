package service

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
