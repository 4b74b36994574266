//! Greets, and remembers whom: a WASI program with `main`, its input on standard input.
//!
//!     in   {"name"?: string}
//!     out  {"greeting": string, "new": boolean}
//!
//! The name last given is the PREFERENCE `greeter/name`. ../wasi-c does the same.
mod rotifer;
use rotifer::{Category, Json, Object, Outcome, Write};
use std::io::{self, Read, Write as _};

const KEY: &str = "greeter/name";

fn main() -> io::Result<()> {
    let mut input = String::new();
    io::stdin().read_to_string(&mut input)?;
    match rotifer::finish(run(Json(&input))) {
        Ok(output) => io::stdout().write_all(&output),
        Err(code) => std::process::exit(-code),
    }
}

fn run(input: Json) -> Outcome {
    let given = match input.member("name") {
        None => None,
        Some(name) => match name.string() {
            Some(name) if !name.is_empty() => Some(name),
            _ => return rotifer::reject("name must be a string that is not empty"),
        },
    };
    let before = rotifer::read(KEY, Some(Category::Preference))?.map(|entry| entry.value);
    if let Some(name) = given.as_ref().filter(|name| before.as_deref() != Some(name.as_bytes())) {
        rotifer::write(&Write::new(KEY, name.as_bytes(), Category::Preference))?;
        eprintln!("a new name of {} bytes", name.len()); // kept with the run's result
    }
    let is_new = before.is_none();
    let name = given
        .or_else(|| before.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
        .unwrap_or_else(|| String::from("stranger"));
    let mut output = Object::new();
    output.string("greeting", &format!("Hello, {name}!"));
    output.boolean("new", is_new);
    Ok(output.end())
}
