package service

import java.net.InetSocketAddress
import org.http4s.HttpService
import org.http4s.server.Server
import org.http4s.server.ServerApp
import org.http4s.server.blaze.BlazeBuilder
import scalaz.concurrent.Task
import sun.misc.{Signal, SignalHandler}

/** hello, sequence and person on http4s 0.16 with its Blaze server. */
object Main extends ServerApp {
  // The JVM's own handler of the signal exits with 143.
  Signal.handle(new Signal("TERM"), new SignalHandler {
    def handle(signal: Signal): Unit = System.exit(0)
  })

  def server(args: List[String]): Task[Server] = {
    val host = sys.env.getOrElse("HOST", "127.0.0.1")
    val port = sys.env.getOrElse("PORT", "8080").toInt
    BlazeBuilder
      .bindSocketAddress(new InetSocketAddress(host, port))
      .mountService(HttpService(Api.routes.orElse(PersonApi.routes)))
      .start
  }
}
