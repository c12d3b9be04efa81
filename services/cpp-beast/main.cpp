// A server with Boost.Beast: a coroutine for each connection, an event loop for each worker.
#include "answer.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = net::ip::tcp;

// A connection that is quiet for longer is closed.
constexpr auto idle = std::chrono::seconds(75);

net::awaitable<void> session(beast::tcp_stream stream) {
    stream.socket().set_option(tcp::no_delay(true));
    beast::flat_buffer buffer;
    try {
        for (bool more = true; more;) {
            stream.expires_after(idle);
            http::request_parser<http::string_body> parser;
            // A hundred headers do not fit in the 8 KiB that are the default.
            parser.header_limit(64 << 10);
            co_await http::async_read(stream, buffer, parser, net::use_awaitable);
            auto reply = answer(parser.get());
            more = reply.keep_alive();
            http::serializer<false, http::string_body> serializer(reply);
            if (parser.get().method() == http::verb::head)
                co_await http::async_write_header(stream, serializer, net::use_awaitable);
            else
                co_await http::async_write(stream, serializer, net::use_awaitable);
        }
    } catch (const boost::system::system_error &) {
        // The client has left, or sent what is no HTTP.
    }
    beast::error_code ignored;
    stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
}

net::awaitable<void> listen(tcp::endpoint endpoint) {
    auto loop = co_await net::this_coro::executor;
    tcp::acceptor acceptor(loop);
    acceptor.open(endpoint.protocol());
    acceptor.set_option(net::socket_base::reuse_address(true));
    // Each event loop has a listening socket of its own, among which the kernel shares the connections out.
    acceptor.set_option(net::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>(true));
    acceptor.bind(endpoint);
    acceptor.listen(4096);
    for (;;) {
        auto socket = co_await acceptor.async_accept(net::use_awaitable);
        net::co_spawn(loop, session(beast::tcp_stream(std::move(socket))), net::detached);
    }
}

std::string setting(const char *name, const char *otherwise) {
    const char *value = std::getenv(name);
    return value ? value : otherwise;
}

int main() {
    const auto cpus = std::to_string(std::max(1U, std::thread::hardware_concurrency()));
    const auto workers = std::stoi(setting("WORKERS", cpus.c_str()));
    const tcp::endpoint endpoint(net::ip::make_address(setting("HOST", "127.0.0.1")),
                                 static_cast<unsigned short>(std::stoi(setting("PORT", "8080"))));
    net::io_context signals(1);
    net::signal_set stop(signals, SIGTERM, SIGINT);
    stop.async_wait([](auto, auto) {});

    std::vector<std::thread> loops;
    for (int i = 0; i < workers; i++)
        loops.emplace_back([endpoint] {
            // One thread runs it: it needs no locks.
            net::io_context loop(1);
            net::co_spawn(loop, listen(endpoint), [](std::exception_ptr failed) {
                if (failed) std::rethrow_exception(failed);
            });
            loop.run();
        });
    signals.run();
    // Replies leave in the moment in which their requests come, so that there is nothing to wait for.
    std::_Exit(0);
}
