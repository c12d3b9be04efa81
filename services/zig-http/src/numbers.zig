//! Integers and Fibonacci numbers, as text.

const std = @import("std");
const Allocator = std.mem.Allocator;
const Managed = std.math.big.int.Managed;

const largest_n = 10_000;

/// An integer from 0 to largest_n.
pub fn parse(written: []const u8) ?u32 {
    for (written) |byte| {
        if (!std.ascii.isDigit(byte)) return null;
    }
    const n = std.fmt.parseInt(u32, written, 10) catch return null;
    return if (n <= largest_n) n else null;
}

/// 1 to n, joined with a space.
pub fn count(arena: Allocator, n: u32) ![]const u8 {
    var body: std.Io.Writer.Allocating = .init(arena);
    for (0..n) |i| {
        if (i > 0) try body.writer.writeByte(' ');
        try body.writer.print("{d}", .{i + 1});
    }
    return body.written();
}

/// F(0) to F(n), joined with a space.
pub fn fib(arena: Allocator, n: u32) ![]const u8 {
    var body: std.Io.Writer.Allocating = .init(arena);
    var a = try Managed.initSet(arena, 0);
    var b = try Managed.initSet(arena, 1);
    for (0..n + 1) |i| {
        if (i > 0) try body.writer.writeByte(' ');
        try body.writer.writeAll(try a.toString(arena, 10, .lower));
        try a.add(&a, &b);
        a.swap(&b);
    }
    return body.written();
}
