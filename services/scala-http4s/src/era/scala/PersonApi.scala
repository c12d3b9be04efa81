package service

import argonaut.EncodeJson
import org.http4s._
import org.http4s.argonaut._
import org.http4s.dsl._
import scalaz.concurrent.Task

object PersonApi {
  private implicit def encoder[A: EncodeJson]: EntityEncoder[A] = jsonEncoderOf[A]

  val routes: PartialFunction[Request, Task[Response]] = {
    case GET -> Root / "person" => Ok(PersonList(People.all, People.all.size))
    case GET -> Root / "person" / id => People.all.find(_.id == id).fold(NotFound())(Ok(_))
    case GET -> Root / "person" / id / "links" =>
      val links = People.links.filter(link => link.p1.id == id || link.p2.id == id)
      Ok(PersonLinkList(links, links.size))
    case request @ POST -> Root / "person" =>
      request.attemptAs(jsonOf[Person]).fold(_ => BadRequest(), Ok(_)).flatMap(identity)
  }
}
