package service

import argonaut.EncodeJson
import org.http4s._
import org.http4s.argonaut._
import org.http4s.dsl._

object PersonApi {
  private implicit def encoder[A: EncodeJson]: EntityEncoder[A] = jsonEncoderOf[A]

  val service: HttpService = HttpService {
    case GET -> Root => Ok(PersonList(People.all, People.all.size))
    case GET -> Root / id => People.all.find(_.id == id).fold(NotFound())(Ok(_))
    case GET -> Root / id / "links" =>
      val links = People.links.filter(link => link.p1.id == id || link.p2.id == id)
      Ok(PersonLinkList(links, links.size))
    case request @ POST -> Root =>
      request.attemptAs(jsonOf[Person]).fold(_ => BadRequest(), Ok(_)).flatMap(identity)
  }
}
