//! The formatter, in Rust: re-indents code, and remembers the width its user last asked for.
mod rotifer;
use rotifer::{Category, Json, Object, Outcome, Write};

rotifer::gene!(run);

const KEY: &str = "formatter/indent";
const DEFAULT_INDENT: usize = 2;
const TAB: usize = 8;

fn run(input: Json) -> Outcome {
    let code = match input.member("code").and_then(Json::string) {
        Some(code) => code,
        None => return rotifer::reject("code must be a string"),
    };
    let indent = match input.member("indent") {
        Some(given) => match width(given.0.as_bytes()) {
            Some(indent) => {
                rotifer::write(&Write::new(KEY, given.0.as_bytes(), Category::Preference))?;
                indent
            }
            None => return rotifer::reject("indent must be a whole number from 1 to 8"),
        },
        // any gene of the domain may have written the entry: what is no width counts as none
        None => rotifer::read(KEY, Some(Category::Preference))?
            .and_then(|entry| width(&entry.value))
            .unwrap_or(DEFAULT_INDENT),
    };
    let mut output = Object::new();
    output.string("formatted", &reindent(&code, indent));
    output.integer("indent", indent as i64);
    Ok(output.end())
}

/// The width that one digit from 1 to 8 stands for.
fn width(text: &[u8]) -> Option<usize> {
    match text {
        [digit @ b'1'..=b'8'] => Some(usize::from(digit - b'0')),
        _ => None,
    }
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
