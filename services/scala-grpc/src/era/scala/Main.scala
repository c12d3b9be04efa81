package service

import io.grpc.netty.NettyServerBuilder
import java.net.InetSocketAddress
import java.util.concurrent.TimeUnit
import scala.concurrent.ExecutionContext
import sun.misc.{Signal, SignalHandler}

/** person over gRPC 1.6 from Scala, on its Java stubs. */
object Main {
  def main(args: Array[String]): Unit = {
    // The JVM's own handler of the signal exits with 143.
    Signal.handle(new Signal("TERM"), new SignalHandler {
      def handle(signal: Signal): Unit = System.exit(0)
    })
    val host = sys.env.getOrElse("HOST", "127.0.0.1")
    val port = sys.env.getOrElse("PORT", "8080").toInt
    val server = NettyServerBuilder
      .forAddress(new InetSocketAddress(host, port))
      .addService(new People)
      // As document 001's server ran its calls.
      .executor(ExecutionContext.global)
      .build()
      .start()

    sys.addShutdownHook {
      if (!server.shutdown().awaitTermination(5, TimeUnit.SECONDS)) server.shutdownNow()
    }
    server.awaitTermination()
  }
}
