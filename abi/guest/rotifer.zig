//! The guest ABI for genes in Zig: the four memory calls with typed requests. JSON and base64
//! are the standard library's. One file; copy it beside your gene.
//!
//!     const rotifer = @import("rotifer.zig");
//!     comptime { rotifer.gene(express); } // exports `alloc` and `express`
//!
//!     fn express(input: std.json.Value) !rotifer.Output { … }
//!
//! Memory taken from `allocator` is free again when the host calls `alloc` for the next input.
//! `../README.md`, "The guest ABI", is the reference for every name here.
const std = @import("std");

const imports = struct {
    extern "rotifer" fn readMemory(req: [*]const u8, req_len: usize, out: [*]u8, out_cap: usize) i32;
    extern "rotifer" fn writeMemory(req: [*]const u8, req_len: usize, out: [*]u8, out_cap: usize) i32;
    extern "rotifer" fn queryMemory(req: [*]const u8, req_len: usize, out: [*]u8, out_cap: usize) i32;
    extern "rotifer" fn deleteMemory(req: [*]const u8, req_len: usize, out: [*]u8, out_cap: usize) i32;

    extern "rotifer.ext.json" fn getMemory(req: [*]const u8, req_len: usize, out: [*]u8, out_cap: usize) i32;
    extern "rotifer.ext.json" fn updateMemory(req: [*]const u8, req_len: usize, out: [*]u8, out_cap: usize) i32;

    extern "rotifer.ext.markdown" fn memory_write(req: [*]const u8, req_len: usize, out: [*]u8, out_cap: usize) i32;
    extern "rotifer.ext.markdown" fn memory_update(req: [*]const u8, req_len: usize, out: [*]u8, out_cap: usize) i32;
    extern "rotifer.ext.markdown" fn memory_read(req: [*]const u8, req_len: usize, out: [*]u8, out_cap: usize) i32;
    extern "rotifer.ext.markdown" fn memory_search(req: [*]const u8, req_len: usize, out: [*]u8, out_cap: usize) i32;
};

var arena = std.heap.ArenaAllocator.init(std.heap.wasm_allocator);
/// Where a gene takes memory from; nothing has to be given back.
pub const allocator = arena.allocator();

// ---- requests and answers -------------------------------------------------------------

pub const Category = enum { PREFERENCE, PATTERN, CONTEXT, CACHE };
pub const Scope = enum { CREATOR_GENE_ONLY, SAME_DOMAIN, ALL_GENES, DEPLOYER_CONFIGURED };
pub const Share = enum { PRIVATE, ANONYMIZED_SHARE, KNOWLEDGE_GENE };

pub const AccessPolicy = struct {
    readScope: Scope = .SAME_DOMAIN,
    writeScope: Scope = .SAME_DOMAIN,
    sharePolicy: Share = .PRIVATE,
};

pub const RetentionPolicy = struct {
    /// Whole days from 1; null for no limit.
    maxRetentionDays: ?u31,
    autoDeleteOnTermination: bool = false,
    anonymizationSupported: bool = false,
};

/// What a write does to an entry's retention policy: three different requests.
pub const Retention = union(enum) {
    /// Left out: a new entry follows the agent's data policy, an old one stays as it is.
    keep,
    /// `null`: follow the agent's data policy again.
    reset,
    set: RetentionPolicy,
};

pub const Write = struct {
    key: []const u8,
    /// Any bytes.
    value: []const u8,
    category: Category,
    access: ?AccessPolicy = null,
    retention: Retention = .keep,
};

/// What `query` matches; `.{}` is everything. `since` (inclusive) and `until` (exclusive) are RFC 3339.
pub const Filter = struct {
    category: ?Category = null,
    keyPrefix: ?[]const u8 = null,
    since: ?[]const u8 = null,
    until: ?[]const u8 = null,
    limit: ?u32 = null,
};

pub const Entry = struct {
    entryId: []const u8,
    category: Category,
    key: []const u8,
    value: Value,
    createdBy: []const u8,
    lastAccessedBy: []const u8,
    createdAt: []const u8,
    updatedAt: []const u8,
    accessPolicy: AccessPolicy,
    /// Null: the agent's data policy decides.
    retentionPolicy: ?RetentionPolicy,
};

/// An entry's bytes; base64 in JSON.
pub const Value = struct {
    bytes: []const u8,

    pub fn jsonParse(alloc: std.mem.Allocator, source: anytype, options: std.json.ParseOptions) !Value {
        const text = try std.json.innerParse([]const u8, alloc, source, options);
        const decoder = std.base64.standard.Decoder;
        const bytes = try alloc.alloc(u8, decoder.calcSizeForSlice(text) catch return error.UnexpectedToken);
        decoder.decode(bytes, text) catch return error.UnexpectedToken;
        return .{ .bytes = bytes };
    }
};

pub const Error = error{
    AccessDenied,
    BudgetExhausted,
    QuotaExceeded,
    InvalidInput,
    NotFound,
    StorageError,
    /// Of host modules only.
    Conflict,
    /// A result a later host may add.
    UnknownResult,
    /// The host's answer is not what its call answers.
    UnknownAnswer,
    OutOfMemory,
};

/// Of the last call that failed: what the host left in `out`, and its two members. Empty with
/// `BudgetExhausted`, which leaves nothing.
pub var failure: struct { result: i32 = 0, payload: []const u8 = "", code: []const u8 = "", message: []const u8 = "" } = .{};

// ---- the four calls ---------------------------------------------------------------------

/// The entry of `key`, or null. With a category, only an entry of that one.
pub fn read(key: []const u8, category: ?Category) Error!?Entry {
    const answer = try call(imports.readMemory, try request(.{ .key = key, .category = category }));
    return parse(?Entry, answer);
}

/// Create or replace an entry; gives it as it is stored.
pub fn write(what: Write) Error!Entry {
    const encoder = std.base64.standard.Encoder;
    const value = encoder.encode(try allocator.alloc(u8, encoder.calcSize(what.value.len)), what.value);
    const head = try request(.{ .key = what.key, .value = value, .category = what.category, .accessPolicy = what.access });
    const body = switch (what.retention) {
        .keep => head,
        .reset => try std.mem.concat(allocator, u8, &.{ head[0 .. head.len - 1], ",\"retentionPolicy\":null}" }),
        .set => |policy| try std.mem.concat(allocator, u8, &.{
            head[0 .. head.len - 1], ",\"retentionPolicy\":", try json(policy), "}", // in it, null means no limit
        }),
    };
    return parse(Entry, try call(imports.writeMemory, body));
}

/// The entries the filter matches and the gene may read, the most recently updated first.
pub fn query(filter: Filter) Error![]const Entry {
    return parse([]const Entry, try call(imports.queryMemory, try request(filter)));
}

pub fn delete(key: []const u8) Error!void {
    _ = try call(imports.deleteMemory, try request(.{ .key = key }));
}

/// The agent's JSON memory, for agents that are granted the host module `json`.
pub const json_memory = struct {
    pub fn Stored(comptime Memory: type) type {
        return struct {
            /// 0 when there is none yet.
            revision: u53,
            memory: ?Memory,
        };
    }

    pub fn get(comptime Memory: type) Error!Stored(Memory) {
        return parse(Stored(Memory), try call(imports.getMemory, "{}"));
    }

    /// Replace the whole memory by another object; its revision. `error.Conflict` when it has another one than expected.
    pub fn update(expected_revision: u53, memory: anytype) Error!u53 {
        const body = try request(.{ .expectedRevision = expected_revision, .memory = memory });
        return (try parse(struct { revision: u53 }, try call(imports.updateMemory, body))).revision;
    }
};

/// Memories in the project's Markdown files, for agents that are granted the host module `markdown`.
pub const markdown = struct {
    /// A new memory, or what `update` makes of one. Null tags: none, or those it has.
    pub const Memory = struct {
        key: []const u8,
        content: []const u8,
        tags: ?[]const []const u8 = null,
    };

    pub const Found = struct {
        key: []const u8,
        content: []const u8,
        tags: []const []const u8,
        file: []const u8,
        kind: Kind,
        /// Null for one written by hand.
        created_at: ?[]const u8,
        updated_at: ?[]const u8,
    };

    pub const Kind = enum { summary, daily };
    pub const Search = struct { query: []const u8, tags: ?[]const []const u8 = null, limit: ?u32 = null };
    pub const Written = struct { key: []const u8, target: Kind, path: []const u8 };
    pub const Updated = struct { key: []const u8, path: []const u8, kind: Kind };

    /// Make a new memory, in MEMORY.md or the file of today; `error.Conflict` when its key is there.
    pub fn write(memory: Memory, target: Kind) Error!Written {
        const body = try request(.{ .key = memory.key, .content = memory.content, .tags = memory.tags, .target = target });
        return parse(Written, try call(imports.memory_write, body));
    }

    /// Give the memory that `read` gives another content.
    pub fn update(memory: Memory) Error!Updated {
        return parse(Updated, try call(imports.memory_update, try request(memory)));
    }

    pub fn read(key: []const u8) Error!Found {
        return parse(Found, try call(imports.memory_read, try request(.{ .key = key })));
    }

    pub fn search(what: Search) Error![]const Found {
        const Results = struct { results: []const Found };
        return (try parse(Results, try call(imports.memory_search, try request(what)))).results;
    }
};

/// A request as JSON; an optional field that is not set is left out, never `null`.
fn request(fields: anytype) Error![]const u8 {
    return std.json.Stringify.valueAlloc(allocator, fields, .{ .emit_null_optional_fields = false });
}

const Import = fn ([*]const u8, usize, [*]u8, usize) callconv(.c) i32;

/// Make a call. -1 changed nothing: it is repeated in a buffer of the size the host names.
fn call(import: *const Import, body: []const u8) Error![]const u8 {
    var cap: usize = 4096;
    while (true) {
        const out = try allocator.alloc(u8, cap);
        out[0] = 0; // a failed call whose payload does not fit leaves none
        const result = import(body.ptr, body.len, out.ptr, out.len);
        if (result >= 0) return out[0..@intCast(result)];
        const payload = out[0 .. std.mem.indexOfScalar(u8, out, 0) orelse out.len];
        failure = .{ .result = result, .payload = payload };
        const Payload = struct { __rotifer_error: struct { code: []const u8, message: []const u8 } };
        if (parse(Payload, payload)) |parsed| {
            failure.code = parsed.__rotifer_error.code;
            failure.message = parsed.__rotifer_error.message;
        } else |_| {}
        cap = @max(cap * 2, needed(failure.message)); // another run may have made the entry larger still
        switch (result) {
            -1 => {},
            -2 => return error.AccessDenied,
            -4 => return error.BudgetExhausted,
            -8 => return error.QuotaExceeded,
            -10 => return error.InvalidInput,
            -12 => return error.NotFound,
            -13 => return error.StorageError,
            -14 => return error.Conflict,
            else => return error.UnknownResult,
        }
    }
}

/// N of "response needs N bytes, out_cap is M", or 0.
fn needed(message: []const u8) usize {
    var words = std.mem.tokenizeScalar(u8, message, ' ');
    while (words.next()) |word| return std.fmt.parseInt(u31, word, 10) catch continue;
    return 0;
}

fn parse(comptime T: type, text: []const u8) Error!T {
    return std.json.parseFromSliceLeaky(T, allocator, text, .{ .ignore_unknown_fields = true }) catch |e| switch (e) {
        error.OutOfMemory => error.OutOfMemory,
        else => error.UnknownAnswer,
    };
}

// ---- input and output -------------------------------------------------------------------

/// What `express` returns: JSON, or a text that refuses the input.
pub const Output = union(enum) { json: []const u8, rejected: []const u8 };

/// A value as JSON, `null` written where it is.
pub fn json(value: anytype) Error![]const u8 {
    return std.json.Stringify.valueAlloc(allocator, value, .{});
}

/// Export `alloc` and `express`. An error of a memory call gives up with the host's own error;
/// any other is the error code -1, which fails the run.
pub fn gene(comptime express: fn (std.json.Value) anyerror!Output) void {
    const exports = struct {
        fn alloc(len: usize) callconv(.c) ?[*]u8 {
            _ = arena.reset(.retain_capacity); // a new input: what the last one took is free
            const bytes = allocator.alloc(u8, len) catch @trap();
            return bytes.ptr;
        }

        fn run(input: [*]const u8, len: usize) callconv(.c) i32 {
            failure = .{};
            const text = finish(input[0..len]) catch |e| {
                if (failure.payload.len == 0) return if (failure.result < 0) failure.result else -1;
                if (e == error.OutOfMemory) @trap(); // after a refused growth: the run's memory limit was hit
                return address(failure.payload);
            };
            return address(text);
        }

        fn finish(input: []const u8) anyerror![]const u8 {
            const value = try std.json.parseFromSliceLeaky(std.json.Value, allocator, input, .{});
            return switch (try express(value)) {
                .json => |text| text,
                .rejected => |message| json(.{ .__rotifer_error = .{ .code = "INVALID_INPUT", .message = message } }),
            };
        }

        fn address(text: []const u8) i32 {
            const terminated = std.mem.concat(allocator, u8, &.{ text, "\x00" }) catch @trap();
            return @intCast(@intFromPtr(terminated.ptr));
        }
    };
    @export(&exports.alloc, .{ .name = "alloc" });
    @export(&exports.run, .{ .name = "express" });
}
