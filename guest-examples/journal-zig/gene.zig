//! A journal in the project's Markdown files, which people read and write, too.
//!
//!     in   {"key": string, "content": string, "tags"?: [string]}  keeps a note, or changes it
//!          {"key": string}                                        reads it
//!          {"find": string, "tags"?: [string], "limit"?: 1..100}  searches
//!     out  {"new": boolean}, {"content": string or null} or {"keys": [string]}
//!
//! The agent must be granted the host module `markdown`. `../journal-rust`, `../journal-c` and
//! `../journal-assemblyscript` do the same.
const std = @import("std");
const rotifer = @import("rotifer.zig");
const markdown = rotifer.markdown;

comptime {
    rotifer.gene(express);
}

const Input = struct {
    key: ?[]const u8 = null,
    content: ?[]const u8 = null,
    find: ?[]const u8 = null,
    tags: ?[]const []const u8 = null,
    limit: ?u32 = null,
};

fn keep(note: markdown.Memory) !rotifer.Output {
    var is_new = true;
    _ = markdown.write(note, .daily) catch |e| switch (e) {
        error.Conflict => { // there is a note with this key, perhaps by hand
            is_new = false;
            _ = try markdown.update(note);
        },
        else => return e,
    };
    return .{ .json = try rotifer.json(.{ .new = is_new }) };
}

fn recall(key: []const u8) !rotifer.Output {
    const content: ?[]const u8 = if (markdown.read(key)) |note| note.content else |e| switch (e) {
        error.NotFound => null,
        else => return e,
    };
    return .{ .json = try rotifer.json(.{ .content = content }) };
}

fn find(what: markdown.Search) !rotifer.Output {
    const notes = try markdown.search(what);
    const keys = try rotifer.allocator.alloc([]const u8, notes.len);
    for (keys, notes) |*key, note| key.* = note.key;
    return .{ .json = try rotifer.json(.{ .keys = keys }) };
}

fn express(value: std.json.Value) !rotifer.Output {
    const refused: rotifer.Output = .{ .rejected = "key or find must be a string" };
    const input = std.json.parseFromValueLeaky(Input, rotifer.allocator, value, .{ .ignore_unknown_fields = true }) catch
        return refused;
    if (input.key) |key| {
        const content = input.content orelse return recall(key);
        return keep(.{ .key = key, .content = content, .tags = input.tags });
    }
    return find(.{ .query = input.find orelse return refused, .tags = input.tags, .limit = input.limit });
}
