package service

import cats.effect.IO
import org.http4s.HttpRoutes
import org.http4s.dsl.io._

object Api {
  val routes: HttpRoutes[IO] = HttpRoutes.of {
    case GET -> Root / "api" / "test" => Ok("Hello, World!")
    case GET -> Root / "api" / "count" / Length(n) => Ok((1 to n).mkString(" "))
    case GET -> Root / "api" / "fib" / Length(n) => Ok(fibonacci.take(n + 1).mkString(" "))
  }

  /** F(0), F(1), … */
  private def fibonacci: Iterator[BigInt] =
    Iterator.iterate((BigInt(0), BigInt(1))) { case (a, b) => (b, a + b) }.map(_._1)

  /** An integer from 0 to 10,000. */
  private object Length {
    private val pattern = "10000|[0-9]{1,4}".r
    def unapply(text: String): Option[Int] = Option.when(pattern.matches(text))(text.toInt)
  }
}
