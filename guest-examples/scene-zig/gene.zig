//! The scene of a story in the agent's JSON memory, which is replaced as a whole.
//!
//!     in   {"scene": string}  changes the scene
//!          {}                 tells it
//!     out  {"scene": string or null, "changes": number}
//!
//! The agent must be granted the host module `json`. `../scene-rust`, `../scene-c` and
//! `../scene-assemblyscript` do the same.
const std = @import("std");
const rotifer = @import("rotifer.zig");

comptime {
    rotifer.gene(express);
}

const Input = struct { scene: ?[]const u8 = null };
const Scene = struct { scene: ?[]const u8, changes: u32 };

fn express(value: std.json.Value) !rotifer.Output {
    const input = std.json.parseFromValueLeaky(Input, rotifer.allocator, value, .{ .ignore_unknown_fields = true }) catch
        return .{ .rejected = "scene must be a string" };
    while (true) {
        const found = try rotifer.json_memory.get(Scene);
        const now = found.memory orelse Scene{ .scene = null, .changes = 0 };
        const scene = input.scene orelse return .{ .json = try rotifer.json(now) };
        const next: Scene = .{ .scene = scene, .changes = now.changes + 1 };
        _ = rotifer.json_memory.update(found.revision, next) catch |e| switch (e) {
            error.Conflict => continue, // decide again on what there is now
            else => return e,
        };
        return .{ .json = try rotifer.json(next) };
    }
}
