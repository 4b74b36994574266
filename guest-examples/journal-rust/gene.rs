//! A journal in the project's Markdown files, which people read and write, too.
//!
//!     in   {"key": string, "content": string, "tags"?: [string]}  keeps a note, or changes it
//!          {"key": string}                                        reads it
//!          {"find": string, "tags"?: [string], "limit"?: 1..100}  searches
//!     out  {"new": boolean}, {"content": string or null} or {"keys": [string]}
//!
//! The agent must be granted the host module `markdown`. `../journal-c`, `../journal-zig` and
//! `../journal-assemblyscript` do the same.
mod rotifer;

use rotifer::markdown::{self, Memory};
use rotifer::{array, reject, Code, Json, Object, Outcome};

rotifer::gene!(run);

fn keep(note: &Memory) -> Outcome {
    let is_new = match markdown::write(note, false) {
        Ok(_) => true,
        Err(error) if error.code == Code::Conflict => {
            markdown::update(note)?; // there is a note with this key, perhaps by hand
            false
        }
        Err(error) => return Err(error.into()),
    };
    let mut output = Object::new();
    output.boolean("new", is_new);
    Ok(output.end())
}

fn recall(key: &str) -> Outcome {
    let mut output = Object::new();
    match markdown::read(key) {
        Ok(note) => output.raw("content", Json(&note).member("content").map_or("null", |content| content.0)),
        Err(error) if error.code == Code::NotFound => output.raw("content", "null"),
        Err(error) => return Err(error.into()),
    }
    Ok(output.end())
}

fn find(query: &str, tags: Option<&[&str]>, limit: Option<u32>) -> Outcome {
    let answer = markdown::search(query, tags, limit)?;
    let results = Json(&answer).member("results");
    let notes = results.iter().flat_map(|results| results.elements());
    let mut output = Object::new();
    output.raw("keys", &array(notes.filter_map(|note| note.member("key")).map(|key| key.0)));
    Ok(output.end())
}

fn run(input: Json) -> Outcome {
    let string = |name| input.member(name).and_then(Json::string);
    let given = input.member("tags").map(|tags| tags.elements().filter_map(Json::string).collect::<Vec<_>>());
    let tags = given.as_ref().map(|tags| tags.iter().map(String::as_str).collect::<Vec<_>>());
    let limit = input.member("limit").and_then(Json::integer).map(|limit| limit as u32);
    match (string("key"), string("content"), string("find")) {
        (Some(key), Some(content), _) => keep(&Memory { key: &key, content: &content, tags: tags.as_deref() }),
        (Some(key), None, _) => recall(&key),
        (None, _, Some(query)) => find(&query, tags.as_deref(), limit),
        _ => reject("key or find must be a string"),
    }
}
