package service

import cats.effect.IO
import org.http4s.*
import org.http4s.dsl.io.*
import org.http4s.headers.`Content-Type`

object Api:
  val routes: HttpRoutes[IO] = HttpRoutes.of:
    case GET -> Root / "api" / "test" => Ok("Hello, World!")
    case GET -> Root / "api" / "count" / Length(n) => Ok((1 to n).mkString(" "))
    case GET -> Root / "api" / "fib" / Length(n) => Ok(fibonacci.take(n + 1).mkString(" "))
    case request @ GET -> Root => Ok(snoop(request.headers), html)

  private val html = `Content-Type`(MediaType.text.html, Charset.`UTF-8`)

  /** F(0), F(1), … */
  private def fibonacci: Iterator[BigInt] =
    Iterator.iterate((BigInt(0), BigInt(1)))((a, b) => (b, a + b)).map(_(0))

  /** An integer from 0 to 10,000. */
  private object Length:
    private val pattern = "10000|[0-9]{1,4}".r
    def unapply(text: String): Option[Int] = Option.when(pattern.matches(text))(text.toInt)

  private def snoop(headers: Headers): String =
    headers.headers
      .map(header => s"HEADER: ${escape(header.name.toString.toLowerCase)} = ${escape(header.value)}")
      .mkString("<!DOCTYPE html>\n<title>Snoop</title>\n<pre>\n", "\n", "\n</pre>\n")

  private def escape(text: String): String =
    text.flatMap:
      case '&' => "&amp;"
      case '<' => "&lt;"
      case '>' => "&gt;"
      case '"' => "&quot;"
      case '\'' => "&#39;"
      case other => other.toString
