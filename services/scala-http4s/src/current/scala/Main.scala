package service

import cats.effect.{IO, IOApp}
import cats.syntax.all.*
import com.comcast.ip4s.{Host, Port}
import org.http4s.ember.server.EmberServerBuilder
import org.http4s.server.middleware.DefaultHead
import org.http4s.{HttpApp, Response, Status}
import scala.concurrent.duration.*
import sun.misc.Signal

/** hello, sequence, snoop and person on http4s with its Ember server. */
object Main extends IOApp.Simple:
  // The JVM's own handler of the signal exits with 143.
  Signal.handle(Signal("TERM"), _ => System.exit(0))

  override protected def computeWorkerThreadCount: Int =
    sys.env.get("WORKERS").fold(super.computeWorkerThreadCount)(_.toInt)

  // The 404 of orNotFound has a body, which Ember would send to a HEAD too.
  private val app: HttpApp[IO] =
    DefaultHead(Api.routes <+> PersonApi.routes).mapF(_.getOrElse(Response(Status.NotFound)))

  def run: IO[Unit] =
    EmberServerBuilder
      .default[IO]
      .withHost(Host.fromString(sys.env.getOrElse("HOST", "127.0.0.1")).get)
      .withPort(Port.fromString(sys.env.getOrElse("PORT", "8080")).get)
      .withHttpApp(app)
      // The default is 1,024: more connections would wait for one to leave.
      .withMaxConnections(65536)
      .withShutdownTimeout(5.seconds)
      .build
      .useForever
