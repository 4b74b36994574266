//! The formatter of ../formatter, in Rust with serde_json for its input and output.
mod rotifer;
use rotifer::{Category, Json, Outcome, Write};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

rotifer::gene!(run);

const KEY: &str = "formatter/indent";
const DEFAULT_INDENT: usize = 2;
const TAB: usize = 8;

#[derive(Deserialize)]
struct Input {
    code: String,
    /// `null` is not the same as left out: it is no width.
    #[serde(default, deserialize_with = "present")]
    indent: Option<Value>,
}

#[derive(Serialize)]
struct Output {
    formatted: String,
    indent: usize,
}

fn present<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
}

fn run(json: Json) -> Outcome {
    let input: Input = match serde_json::from_str(json.0) {
        Ok(input) if json.0.starts_with('{') => input, // serde takes an array's elements for fields
        _ => return rotifer::reject("code must be a string"),
    };
    let indent = match input.indent.map(|given| given.as_u64()) {
        Some(Some(indent @ 1..=8)) => {
            rotifer::write(&Write::new(KEY, indent.to_string().as_bytes(), Category::Preference))?;
            indent as usize
        }
        Some(_) => return rotifer::reject("indent must be a whole number from 1 to 8"),
        // any gene of the domain may have written the entry: what is no width counts as none
        None => rotifer::read(KEY, Some(Category::Preference))?
            .and_then(|entry| match entry.value[..] {
                [digit @ b'1'..=b'8'] => Some(usize::from(digit - b'0')),
                _ => None,
            })
            .unwrap_or(DEFAULT_INDENT),
    };
    let formatted = reindent(&input.code, indent);
    Ok(serde_json::to_string(&Output { formatted, indent }).expect("strings and numbers are JSON"))
}

fn reindent(code: &str, indent: usize) -> String {
    let mut formatted = String::new();
    let mut columns = vec![0]; // where each level starts
    for line in code.split_inclusive(|c| c == '\n' || c == '\r') {
        let text = line.trim_start_matches(|c| c == ' ' || c == '\t');
        let blanks = &line.as_bytes()[..line.len() - text.len()];
        let column = blanks.iter().fold(0, |column, &blank| if blank == b' ' { column + 1 } else { (column / TAB + 1) * TAB });
        if !matches!(text, "" | "\n" | "\r") {
            while columns.last() > Some(&column) {
                columns.pop();
            }
            if columns.last() < Some(&column) {
                columns.push(column);
            }
            formatted.push_str(&" ".repeat(indent * (columns.len() - 1)));
        }
        formatted.push_str(text);
    }
    formatted
}
