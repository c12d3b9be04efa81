package service

import org.apache.pekko.http.scaladsl.model.{ContentTypes, HttpEntity}
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.{PathMatcher1, Route}

object Api:
  /** An integer from 0 to 10,000: anything else does not match, so it is a 404. */
  private val length: PathMatcher1[Int] =
    val pattern = "10000|[0-9]{1,4}".r
    Segment.flatMap(text => Option.when(pattern.matches(text))(text.toInt))

  val routes: Route = pathPrefix("api"):
    concat(
      path("test")(get(complete("Hello, World!"))),
      path("count" / length)(n => get(complete(text((1 to n).mkString(" "))))),
      path("fib" / length)(n => get(complete(text(fibonacci.take(n + 1).mkString(" ")))))
    )

  private def text(body: String) = HttpEntity(ContentTypes.`text/plain(UTF-8)`, body)

  /** F(0), F(1), … */
  private def fibonacci: Iterator[BigInt] =
    Iterator.iterate((BigInt(0), BigInt(1)))((a, b) => (b, a + b)).map(_(0))
