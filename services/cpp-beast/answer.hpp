// What the contracts answer to a request.
#pragma once

#include <boost/beast/http.hpp>
#include <boost/multiprecision/cpp_int.hpp>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>

namespace contracts {

namespace http = boost::beast::http;
using reply = http::response<http::string_body>;

constexpr int largest_n = 10'000;

// An integer from 0 to largest_n.
inline std::optional<int> parse(std::string_view text) {
    const auto digit = [](unsigned char c) { return std::isdigit(c) != 0; };
    if (text.empty() || text.size() > 5 || !std::all_of(text.begin(), text.end(), digit)) return std::nullopt;
    const int n = std::stoi(std::string(text));
    return n <= largest_n ? std::optional(n) : std::nullopt;
}

inline std::string count(int n) {
    std::string body;
    for (int i = 1; i <= n; i++) {
        if (i > 1) body += ' ';
        body += std::to_string(i);
    }
    return body;
}

inline std::string fib(int n) {
    std::string body = "0";
    boost::multiprecision::cpp_int a = 0, b = 1;
    for (int i = 0; i < n; i++) {
        body += ' ';
        body += b.str();
        a += b;
        std::swap(a, b);
    }
    return body;
}

// /api/%74est is /api/test.
inline std::string decoded(std::string_view target) {
    std::string path;
    for (std::size_t i = 0; i < target.size() && target[i] != '?'; i++) {
        const auto hex = [&](std::size_t at) {
            return at < target.size() && std::isxdigit(static_cast<unsigned char>(target[at])) != 0;
        };
        if (target[i] == '%' && hex(i + 1) && hex(i + 2)) {
            path += static_cast<char>(std::stoi(std::string(target.substr(i + 1, 2)), nullptr, 16));
            i += 2;
        } else {
            path += target[i];
        }
    }
    return path;
}

} // namespace contracts

inline contracts::reply answer(const boost::beast::http::request<boost::beast::http::string_body> &request) {
    using namespace contracts;
    const auto with = [&](http::status status, std::string body) {
        reply reply(status, request.version());
        reply.set(http::field::content_type, "text/plain");
        reply.keep_alive(request.keep_alive());
        reply.body() = std::move(body);
        reply.prepare_payload();
        return reply;
    };
    const auto numbers = [&](std::string_view text, std::string (*compute)(int)) {
        const auto n = parse(text);
        return n ? with(http::status::ok, compute(*n))
                 : with(http::status::bad_request, "n must be an integer from 0 to 10000");
    };
    if (request.method() != http::verb::get && request.method() != http::verb::head)
        return with(http::status::method_not_allowed, "only GET");
    const auto target = request.target();
    const auto path = decoded({target.data(), target.size()});
    if (path == "/api/test") return with(http::status::ok, "Hello, World!");
    if (path.starts_with("/api/count/")) return numbers(std::string_view(path).substr(11), count);
    if (path.starts_with("/api/fib/")) return numbers(std::string_view(path).substr(9), fib);
    return with(http::status::not_found, "no such path");
}
