//! Makes the memory call that its input describes: every field of every request, typed.
//!
//!     in   {"call": "read" | "write" | "query" | "delete", …}; see phenotype.json
//!     out  {"entries": […]} or {"failed": {"result", "code", "message"}}
//!
//! A value is text. ../calls-c, ../calls-rust and ../calls-assemblyscript do the same.
const std = @import("std");
const rotifer = @import("rotifer.zig");

comptime {
    rotifer.gene(express);
}

const Call = enum { read, write, query, delete };

/// The input, but for `retention`: there, left out is not `null`.
const Input = struct {
    call: Call,
    key: ?[]const u8 = null,
    value: ?[]const u8 = null,
    category: ?rotifer.Category = null,
    access: ?rotifer.AccessPolicy = null,
    retention: ?rotifer.RetentionPolicy = null,
    keyPrefix: ?[]const u8 = null,
    since: ?[]const u8 = null,
    until: ?[]const u8 = null,
    limit: ?u32 = null,
};

const bad_input = rotifer.Output{ .rejected = "the input is not as phenotype.json says" };

fn express(document: std.json.Value) !rotifer.Output {
    const options: std.json.ParseOptions = .{ .ignore_unknown_fields = true };
    const input = std.json.parseFromValueLeaky(Input, rotifer.allocator, document, options) catch return bad_input;
    const entries = make(input, document) catch |e| switch (e) {
        error.BadInput => return bad_input,
        error.OutOfMemory => return e,
        else => return .{ .json = try rotifer.json(.{ .failed = .{
            .result = rotifer.failure.result,
            .code = rotifer.failure.code,
            .message = rotifer.failure.message,
        } }) },
    };
    return .{ .json = try rotifer.json(.{ .entries = entries }) };
}

fn make(input: Input, document: std.json.Value) ![]const Described {
    switch (input.call) {
        .read => {
            const found = try rotifer.read(input.key orelse return error.BadInput, input.category);
            return if (found) |entry| described(&.{entry}) else &.{};
        },
        .write => {
            const retention: rotifer.Retention = if (input.retention) |policy| .{ .set = policy } else //
            if (document.object.contains("retention")) .reset else .keep;
            const stored = try rotifer.write(.{
                .key = input.key orelse return error.BadInput,
                .value = input.value orelse return error.BadInput,
                .category = input.category orelse return error.BadInput,
                .access = input.access,
                .retention = retention,
            });
            return described(&.{stored});
        },
        .query => return described(try rotifer.query(.{
            .category = input.category,
            .keyPrefix = input.keyPrefix,
            .since = input.since,
            .until = input.until,
            .limit = input.limit,
        })),
        .delete => {
            try rotifer.delete(input.key orelse return error.BadInput);
            return &.{};
        },
    }
}

/// An entry with its value as text.
const Described = struct {
    entryId: []const u8,
    category: rotifer.Category,
    key: []const u8,
    value: []const u8,
    createdBy: []const u8,
    lastAccessedBy: []const u8,
    createdAt: []const u8,
    updatedAt: []const u8,
    accessPolicy: rotifer.AccessPolicy,
    retentionPolicy: ?rotifer.RetentionPolicy,
};

fn described(entries: []const rotifer.Entry) ![]const Described {
    const all = try rotifer.allocator.alloc(Described, entries.len);
    for (all, entries) |*to, entry| {
        inline for (comptime std.meta.fieldNames(Described)) |name| {
            @field(to, name) = if (comptime std.mem.eql(u8, name, "value")) entry.value.bytes else @field(entry, name);
        }
    }
    return all;
}
