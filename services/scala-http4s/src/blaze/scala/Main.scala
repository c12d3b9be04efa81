package service

import cats.effect.{IO, IOApp}
import cats.syntax.all._
import org.http4s.blaze.server.BlazeServerBuilder
import sun.misc.{Signal, SignalHandler}

/** hello, sequence and person on http4s with its Blaze server. */
object Main extends IOApp.Simple {
  // The JVM's own handler of the signal exits with 143.
  Signal.handle(new Signal("TERM"), new SignalHandler {
    def handle(signal: Signal): Unit = System.exit(0)
  })

  private val workers = sys.env.get("WORKERS").fold(Runtime.getRuntime.availableProcessors)(_.toInt)

  override protected def computeWorkerThreadCount: Int = workers

  def run: IO[Unit] =
    BlazeServerBuilder[IO]
      .bindHttp(sys.env.getOrElse("PORT", "8080").toInt, sys.env.getOrElse("HOST", "127.0.0.1"))
      .withConnectorPoolSize(workers)
      // The default is 1,024: more connections would be refused.
      .withMaxConnections(65536)
      // No log line for a start.
      .withoutBanner
      .withHttpApp((Api.routes <+> PersonApi.routes).orNotFound)
      .resource
      .useForever
}
