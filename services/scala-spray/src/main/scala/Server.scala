package service

import akka.actor.{Actor, ActorRef, ActorSystem, Props, Terminated}
import akka.io.IO
import scala.concurrent.duration._
import spray.can.Http
import spray.http.HttpRequest
import sun.misc.Signal

/** hello and sequence on spray-can. */
object Server extends App {
  // The JVM's own handler of the signal exits with 143.
  Signal.handle(new Signal("TERM"), new sun.misc.SignalHandler {
    def handle(signal: Signal): Unit = System.exit(0)
  })
  implicit val system = ActorSystem("service")

  val host = sys.env.getOrElse("HOST", "127.0.0.1")
  val port = sys.env.getOrElse("PORT", "8080").toInt
  val listener = system.actorOf(Props[Listener])
  // Hundreds of connections may come at once; the default backlog is 100.
  IO(Http).tell(Http.Bind(listener, host, port, backlog = 1000), listener)

  sys.addShutdownHook {
    system.shutdown()
    system.awaitTermination(5.seconds)
  }
}

/** Gives each connection an actor of its own, so that all processors take part. */
class Listener extends Actor {
  def receive = {
    case _: Http.Connected =>
      val connection = sender
      connection ! Http.Register(context.actorOf(Props(new Connection(connection))))
    case Http.CommandFailed(bind: Http.Bind) =>
      Console.err.println(s"cannot listen on ${bind.endpoint}")
      System.exit(1)
  }
}

class Connection(connection: ActorRef) extends Actor {
  context.watch(connection)

  def receive = {
    case request: HttpRequest => sender ! Api(request)
    case Terminated(_) => context.stop(self)
  }
}
