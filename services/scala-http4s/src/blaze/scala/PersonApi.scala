package service

import cats.effect.IO
import org.http4s._
import org.http4s.circe.CirceEntityCodec._
import org.http4s.dsl.io._

object PersonApi {
  val routes: HttpRoutes[IO] = HttpRoutes.of {
    case GET -> Root / "person" => Ok(PersonList(People.all, People.all.size))
    case GET -> Root / "person" / id => People.all.find(_.id == id).fold(NotFound())(Ok(_))
    case GET -> Root / "person" / id / "links" =>
      val links = People.links.filter(link => link.p1.id == id || link.p2.id == id)
      Ok(PersonLinkList(links, links.size))
    case request @ POST -> Root / "person" =>
      request.attemptAs[Person].foldF(_ => BadRequest(), Ok(_))
  }
}
