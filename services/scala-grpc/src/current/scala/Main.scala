package service

import io.grpc.InsecureServerCredentials
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder
import java.net.InetSocketAddress
import java.util.concurrent.TimeUnit
import prony.person.PersonServiceGrpc.PersonService
import prony.stream.StreamServiceGrpc.StreamService
import scala.concurrent.ExecutionContext
import sun.misc.Signal

/** person and stream over gRPC with ScalaPB. */
object Main:
  def main(args: Array[String]): Unit =
    // The JVM's own handler of the signal exits with 143.
    Signal.handle(Signal("TERM"), _ => System.exit(0))
    val host = sys.env.getOrElse("HOST", "127.0.0.1")
    val port = sys.env.getOrElse("PORT", "8080").toInt
    val server = NettyServerBuilder
      .forAddress(InetSocketAddress(host, port), InsecureServerCredentials.create())
      // No call blocks, so none needs a thread of its own.
      .addService(PersonService.bindService(People, ExecutionContext.parasitic))
      .addService(StreamService.bindService(Streams, ExecutionContext.parasitic))
      .directExecutor()
      .build()
      .start()

    sys.addShutdownHook:
      if !server.shutdown().awaitTermination(5, TimeUnit.SECONDS) then server.shutdownNow()
    server.awaitTermination()
