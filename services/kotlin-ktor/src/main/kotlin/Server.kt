package service

import io.ktor.http.HttpStatusCode
import io.ktor.server.application.Application
import io.ktor.server.application.ApplicationCall
import io.ktor.server.engine.connector
import io.ktor.server.engine.embeddedServer
import io.ktor.server.engine.sslConnector
import io.ktor.server.netty.Netty
import io.ktor.server.netty.NettyApplicationEngine
import io.ktor.server.response.respond
import io.ktor.server.response.respondText
import io.ktor.server.routing.get
import io.ktor.server.routing.routing
import sun.misc.Signal
import java.io.File
import kotlin.system.exitProcess

private val lengths = Regex("10000|[0-9]{1,4}")

/** hello and sequence on Ktor with its Netty engine. */
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
            System.getenv("TLS_PORT")?.let { secure(address, it.toInt()) }
            // One event loop for each of WORKERS does the I/O and runs the calls too: none of them blocks.
            workerGroupSize = workers
            callGroupSize = workers
            shareWorkGroup = true
            shutdownGracePeriod = 2_000
            shutdownTimeout = 5_000
        },
        module = Application::api,
    ).start(wait = true)
}

/** HTTP/2 or HTTP/1.1, as the client prefers. */
private fun NettyApplicationEngine.Configuration.secure(address: String, tlsPort: Int) {
    val store = keyStore(File(System.getenv("TLS_CERT")), File(System.getenv("TLS_KEY")))
    sslConnector(store, IDENTITY, { charArrayOf() }, { charArrayOf() }) {
        host = address
        port = tlsPort
    }
}

private fun Application.api() {
    routing {
        get("/api/test") { call.respondText("Hello, World!") }
        get("/api/count/{n}") { call.respondNumbers(::count) }
        get("/api/fib/{n}") { call.respondNumbers(::fib) }
    }
}

/** An integer from 0 to 10,000: anything else is an unknown path. */
private suspend fun ApplicationCall.respondNumbers(numbers: (Int) -> Sequence<Number>) {
    val n = parameters["n"].orEmpty()
    if (lengths.matches(n)) {
        respondText(numbers(n.toInt()).joinToString(" "))
    } else {
        respond(HttpStatusCode.NotFound)
    }
}
