//! Counts what happens, and says what happened in a span of time.
//!
//!     in   {"event"?: string, "prefix"?: string, "since"?: string, "until"?: string, "limit"?: integer}
//!     out  {"patterns": [{"event": string, "count": integer}]}
//!
//! Each event is the PATTERN entry `pattern/<event>`, its count in decimal. `event` is counted
//! first; then the events that begin with `prefix` and were last counted from `since` on and
//! before `until` (RFC 3339) are listed, the latest first. A filter that the host refuses
//! rejects the input with the host's own message.
mod rotifer;
use rotifer::{Category, Entry, Filter, Json, Object, Outcome, Write};

rotifer::gene!(run);

const ROOT: &str = "pattern/";

fn run(input: Json) -> Outcome {
    if !input.0.starts_with('{') {
        return rotifer::reject("the input must be an object");
    }
    let mut texts = [None, None, None, None];
    for (text, name) in texts.iter_mut().zip(["event", "prefix", "since", "until"]) {
        if let Some(value) = input.member(name) {
            *text = value.string();
            if text.is_none() {
                return rotifer::reject(&format!("{name} must be a string"));
            }
        }
    }
    let [event, prefix, since, until] = texts;
    let limit = match input.member("limit").map(|limit| limit.0.parse()) {
        None => None,
        Some(Ok(limit)) => Some(limit),
        Some(Err(_)) => return rotifer::reject("limit must be a whole number"),
    };

    if let Some(event) = event {
        note(&format!("{ROOT}{event}"))?;
    }
    let found = rotifer::query(&Filter {
        category: Some(Category::Pattern),
        key_prefix: Some(&format!("{ROOT}{}", prefix.unwrap_or_default())),
        since: since.as_deref(),
        until: until.as_deref(),
        limit,
    })?;
    let patterns: Vec<String> = found.iter().map(described).collect();
    let mut output = Object::new();
    output.raw("patterns", &rotifer::array(patterns.iter().map(String::as_str)));
    Ok(output.end())
}

fn note(key: &str) -> Result<(), rotifer::Error> {
    let before = rotifer::read(key, Some(Category::Pattern))?;
    let next = rotifer::decimal(before.map_or(0, |entry| count(&entry)).saturating_add(1));
    rotifer::write(&Write::new(key, next.as_bytes(), Category::Pattern)).map(|_| ())
}

/// What is no count counts as 0: any gene of the domain may have written the entry.
fn count(entry: &Entry) -> i64 {
    std::str::from_utf8(&entry.value).ok().and_then(|text| text.parse().ok()).unwrap_or(0).max(0)
}

fn described(entry: &Entry) -> String {
    let mut pattern = Object::new();
    pattern.string("event", &entry.key[ROOT.len()..]);
    pattern.integer("count", count(entry));
    pattern.end()
}
