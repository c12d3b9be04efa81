package service

import io.ktor.server.engine.connector
import io.ktor.server.engine.embeddedServer
import io.ktor.server.netty.Netty
import io.modelcontextprotocol.kotlin.sdk.server.mcpStreamableHttp
import sun.misc.Signal
import kotlin.system.exitProcess

/** A server of the Model Context Protocol with its official SDK for Kotlin, in Ktor with its Netty engine. */
fun main() {
    // The JVM's own handler of the signal exits with 143. Either way Ktor closes what it has opened.
    Signal.handle(Signal("TERM")) { exitProcess(0) }
    val address = System.getenv("HOST") ?: "127.0.0.1"
    val workers = System.getenv("WORKERS")?.toInt() ?: Runtime.getRuntime().availableProcessors()
    embeddedServer(
        Netty,
        configure = {
            connector {
                host = address
                port = System.getenv("PORT")?.toInt() ?: 8080
            }
            // One event loop for each of WORKERS does the I/O and runs the calls too: none of them blocks.
            workerGroupSize = workers
            callGroupSize = workers
            shareWorkGroup = true
            shutdownGracePeriod = 2_000
            shutdownTimeout = 5_000
        },
        module = { mcpStreamableHttp { createServer() } },
    ).start(wait = true)
}
