//! The formatter of ../formatter, in Zig: same inputs, same outputs, same memory.
const std = @import("std");
const rotifer = @import("rotifer.zig");

comptime {
    rotifer.gene(express);
}

const key = "formatter/indent";
const default_indent = 2;
const tab = 8;

fn express(input: std.json.Value) !rotifer.Output {
    const code = member(input, "code") orelse return bad_code;
    if (code != .string) return bad_code;

    var indent: usize = default_indent;
    if (member(input, "indent")) |given| {
        if (given != .integer or given.integer < 1 or given.integer > 8) {
            return .{ .rejected = "indent must be a whole number from 1 to 8" };
        }
        indent = @intCast(given.integer);
        const digit = [1]u8{'0' + @as(u8, @intCast(indent))};
        _ = try rotifer.write(.{ .key = key, .value = &digit, .category = .PREFERENCE });
    } else if (try rotifer.read(key, .PREFERENCE)) |entry| {
        indent = width(entry.value.bytes) orelse default_indent; // what another gene left may be no width
    }

    const formatted = try reindent(code.string, indent);
    return .{ .json = try rotifer.json(.{ .formatted = formatted, .indent = indent }) };
}

const bad_code = rotifer.Output{ .rejected = "code must be a string" };

fn member(object: std.json.Value, name: []const u8) ?std.json.Value {
    return if (object == .object) object.object.get(name) else null;
}

/// The width that one digit from 1 to 8 stands for.
fn width(text: []const u8) ?usize {
    return if (text.len == 1 and text[0] >= '1' and text[0] <= '8') text[0] - '0' else null;
}

fn reindent(code: []const u8, indent: usize) ![]const u8 {
    var formatted: std.ArrayList(u8) = .empty;
    var columns: std.ArrayList(usize) = .empty; // where each level starts
    try columns.append(rotifer.allocator, 0);
    var at: usize = 0;
    while (at < code.len) {
        var column: usize = 0;
        while (at < code.len and (code[at] == ' ' or code[at] == '\t')) : (at += 1) {
            column = if (code[at] == ' ') column + 1 else (column / tab + 1) * tab;
        }
        const end = std.mem.indexOfAnyPos(u8, code, at, "\n\r") orelse code.len;
        if (end > at) {
            while (columns.getLast() > column) _ = columns.pop();
            if (columns.getLast() < column) try columns.append(rotifer.allocator, column);
            try formatted.appendNTimes(rotifer.allocator, ' ', (columns.items.len - 1) * indent);
        }
        const next = @min(end + 1, code.len); // the line end goes with its line
        try formatted.appendSlice(rotifer.allocator, code[at..next]);
        at = next;
    }
    return formatted.items;
}
