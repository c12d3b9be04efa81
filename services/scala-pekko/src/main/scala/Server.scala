package service

import org.apache.pekko.actor.ActorSystem
import org.apache.pekko.http.scaladsl.Http
import scala.concurrent.Await
import scala.concurrent.duration.*
import sun.misc.Signal

/** hello and sequence on Pekko HTTP. */
object Server:
  def main(args: Array[String]): Unit =
    // The JVM's own handler of the signal exits with 143. Either way Pekko closes what it has opened.
    Signal.handle(Signal("TERM"), _ => System.exit(0))
    given system: ActorSystem = ActorSystem("service")
    val host = sys.env.getOrElse("HOST", "127.0.0.1")
    val port = sys.env.getOrElse("PORT", "8080").toInt
    val binding = Http().newServerAt(host, port).bind(Api.routes)
    Await.result(binding, 20.seconds).addToCoordinatedShutdown(hardTerminationDeadline = 5.seconds)
