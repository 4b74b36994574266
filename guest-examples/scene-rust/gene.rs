//! The scene of a story in the agent's JSON memory, which is replaced as a whole.
//!
//!     in   {"scene": string}  changes the scene
//!          {}                 tells it
//!     out  {"scene": string or null, "changes": number}
//!
//! The agent must be granted the host module `json`. `../scene-c`, `../scene-zig` and
//! `../scene-assemblyscript` do the same.
mod rotifer;

use rotifer::{json_memory, reject, Code, Json, Object, Outcome};

rotifer::gene!(run);

fn memory_of(scene: &str, changes: i64) -> String {
    let mut json = Object::new();
    json.raw("scene", scene);
    json.integer("changes", changes);
    json.end()
}

fn run(input: Json) -> Outcome {
    let wanted = input.member("scene");
    if wanted.map_or(false, |scene| scene.string().is_none()) {
        return reject("scene must be a string");
    }
    loop {
        let found = json_memory::get()?;
        let memory = Json(&found.json);
        let changes = memory.member("changes").and_then(Json::integer).unwrap_or(0);
        let scene = match wanted {
            Some(scene) => scene,
            None => return Ok(memory_of(memory.member("scene").map_or("null", |scene| scene.0), changes)),
        };
        let next = memory_of(scene.0, changes + 1);
        match json_memory::update(found.revision, &next) {
            Ok(_) => return Ok(next),
            Err(error) if error.code == Code::Conflict => {} // decide again on what there is now
            Err(error) => return Err(error.into()),
        }
    }
}
