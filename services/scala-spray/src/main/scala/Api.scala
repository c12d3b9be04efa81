package service

import spray.http.HttpMethods.GET
import spray.http.Uri.Path
import spray.http.Uri.Path.{Empty, Segment, Slash}
import spray.http.{HttpHeader, HttpRequest, HttpResponse, Rendering, StatusCodes}

object Api {
  def apply(request: HttpRequest): HttpResponse = segments(request.uri.path) match {
    case List("api", "test") => get(request)("Hello, World!")
    case List("api", "count", Length(n)) => get(request)((1 to n).mkString(" "))
    case List("api", "fib", Length(n)) => get(request)(fibonacci.take(n + 1).mkString(" "))
    case _ => HttpResponse(StatusCodes.NotFound)
  }

  private def get(request: HttpRequest)(body: => String): HttpResponse =
    if (request.method == GET) text(body) else HttpResponse(StatusCodes.MethodNotAllowed)

  private def text(body: String): HttpResponse =
    if (body.isEmpty) HttpResponse(headers = List(EmptyText)) else HttpResponse(entity = body)

  /** An empty entity has no type in spray, and it leaves out a header of its own class for it. */
  private object EmptyText extends HttpHeader {
    def name = "Content-Type"
    def lowercaseName = "content-type"
    def value = "text/plain; charset=UTF-8"
    def render[R <: Rendering](rendering: R): rendering.type = rendering ~~ name ~~ ": " ~~ value
    protected def companion = throw new UnsupportedOperationException
  }

  /** The parts of the path, with their escapes undone. */
  private def segments(path: Path): List[String] = path match {
    case Empty => Nil
    case Slash(Empty) => List("")
    case Slash(Slash(tail)) => "" :: segments(Slash(tail))
    case Slash(Segment(head, tail)) => head :: segments(tail)
    case Segment(head, tail) => head :: segments(tail)
  }

  /** F(0), F(1), … */
  private def fibonacci: Iterator[BigInt] =
    Iterator.iterate((BigInt(0), BigInt(1))) { case (a, b) => (b, a + b) }.map(_._1)

  /** An integer from 0 to 10,000. */
  private object Length {
    private val pattern = "10000|[0-9]{1,4}".r

    def unapply(text: String): Option[Int] = pattern.unapplySeq(text).map(_ => text.toInt)
  }
}
