//! hello and sequence on Zig's own http.Server: a thread for each connection.

const std = @import("std");
const numbers = @import("numbers.zig");

/// The default of Io's examples, 4 KiB for all headers of a request, is tight for a hundred of them.
const head_bytes = 64 * 1024;

pub fn main(init: std.process.Init) !void {
    const io = init.io;
    const host = init.environ_map.get("HOST") orelse "127.0.0.1";
    const port = try std.fmt.parseInt(u16, init.environ_map.get("PORT") orelse "8080", 10);
    const address: std.Io.net.IpAddress = try .parse(host, port);
    // Hundreds of connections may come at once; the default is 128.
    var server = try address.listen(io, .{ .reuse_address = true, .kernel_backlog = 4096 });
    std.posix.sigaction(.TERM, &.{ .handler = .{ .handler = stop }, .mask = std.posix.sigemptyset(), .flags = 0 }, null);

    var connections: std.Io.Group = .init;
    while (true) {
        // Out of file descriptors: some connections must end first.
        const stream = server.accept(io) catch continue;
        connections.concurrent(io, serve, .{ io, init.gpa, stream }) catch stream.close(io);
    }
}

/// Each request is answered at once, in one write, so none is in flight.
fn stop(_: std.posix.SIG) callconv(.c) void {
    std.process.exit(0);
}

fn serve(io: std.Io, gpa: std.mem.Allocator, stream: std.Io.net.Stream) void {
    defer stream.close(io);
    var in_buffer: [head_bytes]u8 = undefined;
    var out_buffer: [4096]u8 = undefined;
    var reader = stream.reader(io, &in_buffer);
    var writer = stream.writer(io, &out_buffer);
    var server: std.http.Server = .init(&reader.interface, &writer.interface);
    var arena: std.heap.ArenaAllocator = .init(gpa);
    defer arena.deinit();
    while (true) {
        var request = server.receiveHead() catch return;
        answer(&request, arena.allocator()) catch return;
        if (server.reader.state != .ready) return;
        _ = arena.reset(.retain_capacity);
    }
}

fn answer(request: *std.http.Server.Request, arena: std.mem.Allocator) !void {
    if (request.head.method != .GET and request.head.method != .HEAD) {
        return text(request, .method_not_allowed, "only GET");
    }
    const target = request.head.target;
    const end = std.mem.indexOfScalar(u8, target, '?') orelse target.len;
    const path = std.Uri.percentDecodeInPlace(try arena.dupe(u8, target[0..end]));
    if (std.mem.eql(u8, path, "/api/test")) return text(request, .ok, "Hello, World!");
    inline for (.{ .{ "/api/count/", numbers.count }, .{ "/api/fib/", numbers.fib } }) |route| {
        if (std.mem.startsWith(u8, path, route[0])) {
            const n = numbers.parse(path[route[0].len..]) orelse
                return text(request, .bad_request, "n must be an integer from 0 to 10000");
            return text(request, .ok, try route[1](arena, n));
        }
    }
    return text(request, .not_found, "no such path");
}

fn text(request: *std.http.Server.Request, status: std.http.Status, body: []const u8) !void {
    return request.respond(body, .{
        .status = status,
        .extra_headers = &.{.{ .name = "Content-Type", .value = "text/plain" }},
    });
}
