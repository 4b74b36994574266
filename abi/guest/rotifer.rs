//! The guest ABI for genes in Rust: the four memory calls, and just enough JSON and base64 to
//! use them. `no_std`, no dependency; copy it beside your gene and write `mod rotifer;`.
//!
//!     mod rotifer;
//!     use rotifer::{Json, Outcome};
//!
//!     rotifer::gene!(run); // exports `alloc` and `express`; a WASI gene has `main` instead
//!
//!     fn run(input: Json) -> Outcome { … }
//!
//! `../README.md`, "The guest ABI", is the reference for every name here.
#![allow(dead_code)] // a gene needs some of it

extern crate alloc;

use self::alloc::string::String;
use self::alloc::vec::Vec;

// ---- the memory calls ----------------------------------------------------------------

mod imports {
    #[link(wasm_import_module = "rotifer")]
    extern "C" {
        #[link_name = "readMemory"]
        pub fn read_memory(req: *const u8, req_len: usize, out: *mut u8, out_cap: usize) -> i32;
        #[link_name = "writeMemory"]
        pub fn write_memory(req: *const u8, req_len: usize, out: *mut u8, out_cap: usize) -> i32;
        #[link_name = "queryMemory"]
        pub fn query_memory(req: *const u8, req_len: usize, out: *mut u8, out_cap: usize) -> i32;
        #[link_name = "deleteMemory"]
        pub fn delete_memory(req: *const u8, req_len: usize, out: *mut u8, out_cap: usize) -> i32;
    }

    #[link(wasm_import_module = "rotifer.ext.json")]
    extern "C" {
        #[link_name = "getMemory"]
        pub fn get_json(req: *const u8, req_len: usize, out: *mut u8, out_cap: usize) -> i32;
        #[link_name = "updateMemory"]
        pub fn update_json(req: *const u8, req_len: usize, out: *mut u8, out_cap: usize) -> i32;
    }

    #[link(wasm_import_module = "rotifer.ext.markdown")]
    extern "C" {
        pub fn memory_write(req: *const u8, req_len: usize, out: *mut u8, out_cap: usize) -> i32;
        pub fn memory_update(req: *const u8, req_len: usize, out: *mut u8, out_cap: usize) -> i32;
        pub fn memory_read(req: *const u8, req_len: usize, out: *mut u8, out_cap: usize) -> i32;
        pub fn memory_search(req: *const u8, req_len: usize, out: *mut u8, out_cap: usize) -> i32;
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Category {
    Preference,
    Pattern,
    Context,
    Cache,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scope {
    CreatorGeneOnly,
    SameDomain,
    AllGenes,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Share {
    Private,
    AnonymizedShare,
    KnowledgeGene,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AccessPolicy {
    pub read: Scope,
    pub write: Scope,
    pub share: Share,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetentionPolicy {
    /// Whole days from 1; `None` for no limit.
    pub max_retention_days: Option<u32>,
    pub auto_delete_on_termination: bool,
    pub anonymization_supported: bool,
}

/// What a write does to an entry's retention policy: three different requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Retention {
    /// Left out: a new entry follows the agent's data policy, an old one stays as it is.
    Keep,
    /// `null`: follow the agent's data policy again.
    Reset,
    Set(RetentionPolicy),
}

/// A `writeMemory` request: `Write::new(key, value, category)`, then what else is to be set.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    pub key: &'a str,
    pub value: &'a [u8],
    pub category: Category,
    pub access: Option<AccessPolicy>,
    pub retention: Retention,
}

impl<'a> Write<'a> {
    pub fn new(key: &'a str, value: &'a [u8], category: Category) -> Self {
        Write { key, value, category, access: None, retention: Retention::Keep }
    }
}

/// A `queryMemory` request; `Filter::default()` matches everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter<'a> {
    pub category: Option<Category>,
    pub key_prefix: Option<&'a str>,
    /// RFC 3339, inclusive.
    pub since: Option<&'a str>,
    /// RFC 3339, exclusive.
    pub until: Option<&'a str>,
    pub limit: Option<u32>,
}

#[derive(Clone, Debug)]
pub struct Entry {
    pub entry_id: String,
    pub category: Category,
    pub key: String,
    pub value: Vec<u8>,
    pub created_by: String,
    pub last_accessed_by: String,
    pub created_at: String,
    pub updated_at: String,
    pub access: AccessPolicy,
    /// `None`: the agent's data policy decides.
    pub retention: Option<RetentionPolicy>,
}

/// Why a memory call failed.
#[derive(Clone, Debug)]
pub struct Error {
    pub code: Code,
    /// `MEMORY_…`; empty when the host left no payload.
    pub name: String,
    pub message: String,
    /// The host's error object as it came; empty where there was none.
    payload: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Code {
    AccessDenied,
    BudgetExhausted,
    QuotaExceeded,
    InvalidInput,
    NotFound,
    StorageError,
    /// Of host modules only.
    Conflict,
    /// What a later host may add, and an answer that is no entry.
    Other(i32),
}

impl Code {
    fn of(result: i32) -> Code {
        match result {
            -2 => Code::AccessDenied,
            -4 => Code::BudgetExhausted,
            -8 => Code::QuotaExceeded,
            -10 => Code::InvalidInput,
            -12 => Code::NotFound,
            -13 => Code::StorageError,
            -14 => Code::Conflict,
            other => Code::Other(other),
        }
    }

    pub fn result(self) -> i32 {
        match self {
            Code::AccessDenied => -2,
            Code::BudgetExhausted => -4,
            Code::QuotaExceeded => -8,
            Code::InvalidInput => -10,
            Code::NotFound => -12,
            Code::StorageError => -13,
            Code::Conflict => -14,
            Code::Other(result) => result,
        }
    }
}

/// The entry of `key`, or `None`. With a category, only an entry of that one.
pub fn read(key: &str, category: Option<Category>) -> Result<Option<Entry>, Error> {
    let mut request = Object::new();
    request.string("key", key);
    request.category(category);
    let answer = call(imports::read_memory, &request.end())?;
    let json = text(&answer);
    if json.0 == "null" {
        return Ok(None);
    }
    entry(json).map(Some)
}

/// Create or replace an entry; gives it as it is stored.
pub fn write(request: &Write) -> Result<Entry, Error> {
    let mut json = Object::new();
    json.string("key", request.key);
    json.string("value", &to_base64(request.value));
    json.category(Some(request.category));
    if let Some(policy) = request.access {
        let mut access = Object::new();
        access.string("readScope", scope_name(policy.read));
        access.string("writeScope", scope_name(policy.write));
        access.string("sharePolicy", share_name(policy.share));
        json.raw("accessPolicy", &access.end());
    }
    match request.retention {
        Retention::Keep => {}
        Retention::Reset => json.raw("retentionPolicy", "null"),
        Retention::Set(policy) => {
            let mut retention = Object::new();
            match policy.max_retention_days {
                Some(days) => retention.integer("maxRetentionDays", i64::from(days)),
                None => retention.raw("maxRetentionDays", "null"),
            }
            retention.boolean("autoDeleteOnTermination", policy.auto_delete_on_termination);
            retention.boolean("anonymizationSupported", policy.anonymization_supported);
            json.raw("retentionPolicy", &retention.end());
        }
    }
    entry(text(&call(imports::write_memory, &json.end())?))
}

/// The entries a filter matches and the gene may read, the most recently updated first.
pub fn query(filter: &Filter) -> Result<Vec<Entry>, Error> {
    let mut request = Object::new();
    request.category(filter.category);
    for (name, value) in [("keyPrefix", filter.key_prefix), ("since", filter.since), ("until", filter.until)] {
        if let Some(value) = value {
            request.string(name, value);
        }
    }
    if let Some(limit) = filter.limit {
        request.integer("limit", i64::from(limit));
    }
    let answer = call(imports::query_memory, &request.end())?;
    text(&answer).elements().map(entry).collect()
}

pub fn delete(key: &str) -> Result<(), Error> {
    let mut request = Object::new();
    request.string("key", key);
    call(imports::delete_memory, &request.end()).map(|_| ())
}

/// The agent's JSON memory, for agents that are granted the host module `json`.
pub mod json_memory {
    use super::{call, imports, text, Error, Json, Object, String};

    /// A memory with its revision; `Json::member` reads what is in it.
    pub struct Memory {
        /// 0 when there is none yet.
        pub revision: i64,
        /// An object as JSON; `null` when there is none yet.
        pub json: String,
    }

    pub fn get() -> Result<Memory, Error> {
        let answer = call(imports::get_json, "{}")?;
        let found = text(&answer);
        Ok(Memory {
            revision: revision(found),
            json: String::from(found.member("memory").map_or("null", |memory| memory.0)),
        })
    }

    /// Replace the whole memory by another object; its revision. `Code::Conflict` when it has another one than expected.
    pub fn update(expected_revision: i64, memory: &str) -> Result<i64, Error> {
        let mut json = Object::new();
        json.integer("expectedRevision", expected_revision);
        json.raw("memory", memory);
        call(imports::update_json, &json.end()).map(|answer| revision(text(&answer)))
    }

    fn revision(answer: Json) -> i64 {
        answer.member("revision").and_then(Json::integer).unwrap_or(0)
    }
}

/// Memories in the project's Markdown files, for agents that are granted the host module
/// `markdown`. What comes back is JSON: see `Json::member`.
pub mod markdown {
    use super::{array, call, imports, quote, Error, Object, String};
    use super::alloc::vec::Vec;

    /// A new memory, or what `update` makes of one. Tags that are not set: none, or those it has.
    pub struct Memory<'a> {
        pub key: &'a str,
        pub content: &'a str,
        pub tags: Option<&'a [&'a str]>,
    }

    /// Make a new memory, with `summary` in `MEMORY.md`: `key`, `target`, `path`. `Code::Conflict` when its key is there.
    pub fn write(memory: &Memory, summary: bool) -> Result<String, Error> {
        let mut json = members(memory);
        if summary {
            json.string("target", "summary");
        }
        ask(imports::memory_write, json)
    }

    /// Give the memory that `read` gives another content: `key`, `path`, `kind`.
    pub fn update(memory: &Memory) -> Result<String, Error> {
        ask(imports::memory_update, members(memory))
    }

    /// `key`, `content`, `tags`, `file`, `kind`, `created_at`, `updated_at`.
    pub fn read(key: &str) -> Result<String, Error> {
        let mut json = Object::new();
        json.string("key", key);
        ask(imports::memory_read, json)
    }

    /// `results`: an array of what `read` gives.
    pub fn search(query: &str, tags: Option<&[&str]>, limit: Option<u32>) -> Result<String, Error> {
        let mut json = Object::new();
        json.string("query", query);
        put_tags(&mut json, tags);
        if let Some(limit) = limit {
            json.integer("limit", i64::from(limit));
        }
        ask(imports::memory_search, json)
    }

    fn members(memory: &Memory) -> Object {
        let mut json = Object::new();
        json.string("key", memory.key);
        json.string("content", memory.content);
        put_tags(&mut json, memory.tags);
        json
    }

    fn put_tags(json: &mut Object, tags: Option<&[&str]>) {
        if let Some(tags) = tags {
            let quoted: Vec<String> = tags.iter().map(|tag| quoted(tag)).collect();
            json.raw("tags", &array(quoted.iter().map(String::as_str)));
        }
    }

    fn quoted(text: &str) -> String {
        let mut json = String::new();
        quote(&mut json, text);
        json
    }

    fn ask(import: super::Import, json: Object) -> Result<String, Error> {
        call(import, &json.end()).map(|answer| String::from(super::text(&answer).0))
    }
}

type Import = unsafe extern "C" fn(*const u8, usize, *mut u8, usize) -> i32;

/// Make a call. -1 changed nothing: it is repeated in a buffer of the size the host names.
fn call(import: Import, request: &str) -> Result<Vec<u8>, Error> {
    let mut out: Vec<u8> = Vec::new();
    let mut cap = 4096;
    loop {
        out.clear();
        out.resize(cap, 0); // zeros: a failed call whose payload does not fit leaves none
        let result = unsafe { import(request.as_ptr(), request.len(), out.as_mut_ptr(), out.len()) };
        if result >= 0 {
            out.truncate(result as usize);
            return Ok(out);
        }
        let end = out.iter().position(|&byte| byte == 0).unwrap_or(cap);
        out.truncate(end);
        let error = text(&out).member("__rotifer_error");
        let said = |name| error.and_then(|error| error.member(name)).and_then(Json::string).unwrap_or_default();
        let (name, message) = (said("code"), said("message"));
        if result != -1 {
            return Err(Error { code: Code::of(result), name, message, payload: out });
        }
        // another run may have made the entry larger still
        let needed = message.split(' ').find_map(|word| word.parse().ok()).unwrap_or(0);
        cap = if needed > cap { needed } else { cap * 2 };
    }
}

fn text(bytes: &[u8]) -> Json<'_> {
    Json(core::str::from_utf8(bytes).unwrap_or(""))
}

fn entry(json: Json) -> Result<Entry, Error> {
    parse_entry(json).ok_or_else(|| Error {
        code: Code::Other(0),
        name: String::new(),
        message: String::from("the host's answer is no entry"),
        payload: Vec::new(),
    })
}

fn parse_entry(json: Json) -> Option<Entry> {
    let string = |name| json.member(name).and_then(Json::string);
    let access = json.member("accessPolicy")?;
    let retention = json.member("retentionPolicy")?;
    Some(Entry {
        entry_id: string("entryId")?,
        category: match string("category")?.as_str() {
            "PREFERENCE" => Category::Preference,
            "PATTERN" => Category::Pattern,
            "CONTEXT" => Category::Context,
            "CACHE" => Category::Cache,
            _ => return None,
        },
        key: string("key")?,
        value: from_base64(&string("value")?)?,
        created_by: string("createdBy")?,
        last_accessed_by: string("lastAccessedBy")?,
        created_at: string("createdAt")?,
        updated_at: string("updatedAt")?,
        access: AccessPolicy {
            read: scope(&access.member("readScope")?.string()?)?,
            write: scope(&access.member("writeScope")?.string()?)?,
            share: match access.member("sharePolicy")?.string()?.as_str() {
                "PRIVATE" => Share::Private,
                "ANONYMIZED_SHARE" => Share::AnonymizedShare,
                "KNOWLEDGE_GENE" => Share::KnowledgeGene,
                _ => return None,
            },
        },
        retention: match retention.0 {
            "null" => None,
            _ => Some(RetentionPolicy {
                max_retention_days: retention.member("maxRetentionDays")?.integer().map(|days| days as u32),
                auto_delete_on_termination: retention.member("autoDeleteOnTermination")?.0 == "true",
                anonymization_supported: retention.member("anonymizationSupported")?.0 == "true",
            }),
        },
    })
}

pub fn category_name(category: Category) -> &'static str {
    match category {
        Category::Preference => "PREFERENCE",
        Category::Pattern => "PATTERN",
        Category::Context => "CONTEXT",
        Category::Cache => "CACHE",
    }
}

pub fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::CreatorGeneOnly => "CREATOR_GENE_ONLY",
        Scope::SameDomain => "SAME_DOMAIN",
        Scope::AllGenes => "ALL_GENES",
    }
}

fn scope(name: &str) -> Option<Scope> {
    [Scope::CreatorGeneOnly, Scope::SameDomain, Scope::AllGenes].iter().copied().find(|&scope| scope_name(scope) == name)
}

pub fn share_name(share: Share) -> &'static str {
    match share {
        Share::Private => "PRIVATE",
        Share::AnonymizedShare => "ANONYMIZED_SHARE",
        Share::KnowledgeGene => "KNOWLEDGE_GENE",
    }
}

// ---- JSON ----------------------------------------------------------------------------

/// A JSON value: the text it is written as. What the host writes is well-formed and compact;
/// that is not checked again. What is asked of a value of another kind is `None`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Json<'a>(pub &'a str);

impl<'a> Json<'a> {
    pub fn member(self, name: &str) -> Option<Json<'a>> {
        self.members().find(|member| member.0.inside() == name).map(|member| member.1)
    }

    /// Names and values of an object, in order; a name is a string with its quotes.
    pub fn members(self) -> impl Iterator<Item = (Json<'a>, Json<'a>)> {
        let mut items = Items::new(self, b'{');
        core::iter::from_fn(move || {
            let name = items.take_name()?;
            Some((name, items.take_value()?))
        })
    }

    /// The elements of an array.
    pub fn elements(self) -> impl Iterator<Item = Json<'a>> {
        let mut items = Items::new(self, b'[');
        core::iter::from_fn(move || items.take_value())
    }

    /// What a string says, its escapes resolved.
    pub fn string(self) -> Option<String> {
        if !self.0.starts_with('"') {
            return None;
        }
        let mut text = String::new();
        let mut parts = self.inside().split('\\');
        text.push_str(parts.next()?);
        while let Some(part) = parts.next() {
            let mut rest = part.chars();
            match rest.next() {
                Some('b') => text.push('\u{8}'),
                Some('f') => text.push('\u{c}'),
                Some('n') => text.push('\n'),
                Some('r') => text.push('\r'),
                Some('t') => text.push('\t'),
                Some('u') => {
                    let mut code = u32::from_str_radix(part.get(1..5)?, 16).ok()?;
                    let mut after = &part[5..];
                    if code >> 10 == 0x36 {
                        let low = parts.next()?; // the other half of a pair
                        code = 0x10000 + ((code & 0x3ff) << 10) + (u32::from_str_radix(low.get(1..5)?, 16).ok()? & 0x3ff);
                        after = &low[5..];
                    }
                    text.push(char::from_u32(code)?);
                    text.push_str(after);
                    continue;
                }
                Some(escaped) => text.push(escaped),
                None => {
                    text.push('\\'); // of two backslashes the first; what follows the second is text
                    text.push_str(parts.next()?);
                    continue;
                }
            }
            text.push_str(rest.as_str());
        }
        Some(text)
    }

    /// A whole number written without point and exponent.
    pub fn integer(self) -> Option<i64> {
        self.0.parse().ok()
    }

    /// The text between the quotes or brackets.
    fn inside(self) -> &'a str {
        self.0.get(1..self.0.len().saturating_sub(1)).unwrap_or("")
    }
}

/// Steps through an object or an array.
struct Items<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Items<'a> {
    fn new(json: Json<'a>, bracket: u8) -> Self {
        let is_one = json.0.as_bytes().first() == Some(&bracket);
        Items { text: if is_one { json.inside() } else { "" }, at: 0 }
    }

    fn take_name(&mut self) -> Option<Json<'a>> {
        let end = self.after_string(self.at);
        let name = self.text.get(self.at..end).filter(|name| !name.is_empty())?;
        self.at = end + 1; // the colon
        Some(Json(name))
    }

    fn take_value(&mut self) -> Option<Json<'a>> {
        let end = self.after_value(self.at);
        let value = self.text.get(self.at..end).filter(|value| !value.is_empty())?;
        self.at = end + 1; // the comma
        Some(Json(value))
    }

    fn after_value(&self, mut at: usize) -> usize {
        let mut depth = 0;
        while let Some(&byte) = self.text.as_bytes().get(at) {
            match byte {
                b'"' => {
                    at = self.after_string(at);
                    continue;
                }
                b',' if depth == 0 => break,
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            at += 1;
        }
        at
    }

    fn after_string(&self, mut at: usize) -> usize {
        at += 1;
        while let Some(&byte) = self.text.as_bytes().get(at) {
            match byte {
                b'"' => return at + 1,
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
        self.text.len()
    }
}

/// Writes a JSON object. A member that is not set is not written: `null` means something else.
pub struct Object(String);

impl Object {
    pub fn new() -> Self {
        Object(String::from("{"))
    }

    pub fn string(&mut self, name: &str, value: &str) {
        self.name(name);
        quote(&mut self.0, value);
    }

    pub fn integer(&mut self, name: &str, value: i64) {
        self.raw(name, &decimal(value));
    }

    pub fn boolean(&mut self, name: &str, value: bool) {
        self.raw(name, if value { "true" } else { "false" });
    }

    /// A member whose value is JSON already.
    pub fn raw(&mut self, name: &str, json: &str) {
        self.name(name);
        self.0.push_str(json);
    }

    pub fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }

    fn category(&mut self, category: Option<Category>) {
        if let Some(category) = category {
            self.string("category", category_name(category));
        }
    }

    fn name(&mut self, name: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        quote(&mut self.0, name);
        self.0.push(':');
    }
}

/// A JSON array of values that are JSON already.
pub fn array<'a>(values: impl IntoIterator<Item = &'a str>) -> String {
    let mut json = String::from("[");
    for value in values {
        if json.len() > 1 {
            json.push(',');
        }
        json.push_str(value);
    }
    json.push(']');
    json
}

/// Append a JSON string with its quotes.
pub fn quote(json: &mut String, value: &str) {
    json.push('"');
    let mut done = 0;
    for (at, byte) in value.bytes().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        json.push_str(&value[done..at]);
        done = at + 1;
        json.push('\\');
        match byte {
            b'"' | b'\\' => json.push(byte as char),
            b'\n' => json.push('n'),
            b'\r' => json.push('r'),
            b'\t' => json.push('t'),
            _ => {
                json.push_str("u00");
                json.push(char::from(b'0' + (byte >> 4)));
                json.push(char::from_digit(u32::from(byte & 15), 16).unwrap_or('0'));
            }
        }
    }
    json.push_str(&value[done..]);
    json.push('"');
}

/// A number's digits; `core::fmt` would take several kilobytes of the module.
pub fn decimal(value: i64) -> String {
    let mut digits = Vec::new();
    let mut rest = value.unsigned_abs();
    while rest > 0 || digits.is_empty() {
        digits.push(b'0' + (rest % 10) as u8);
        rest /= 10;
    }
    if value < 0 {
        digits.push(b'-');
    }
    digits.iter().rev().map(|&digit| char::from(digit)).collect()
}

// ---- base64 --------------------------------------------------------------------------

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub fn to_base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity((bytes.len() + 2) / 3 * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for letter in 0..4 {
            if letter > chunk.len() {
                text.push('=');
            } else {
                text.push(char::from(ALPHABET[(word >> (18 - 6 * letter) & 63) as usize]));
            }
        }
    }
    text
}

/// The bytes of canonical base64; `None` for a character that is none of it.
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut have) = (0u32, 0);
    for letter in text.trim_end_matches('=').bytes() {
        let sextet = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(sextet);
        have += 6;
        if have >= 8 {
            have -= 8;
            bytes.push((bits >> have) as u8);
        }
    }
    Some(bytes)
}

// ---- input and output ----------------------------------------------------------------

/// What `express` returns: an output, or why there is none. `?` on a memory call gives up with
/// the host's own error.
pub type Outcome = Result<String, Failure>;

pub enum Failure {
    /// Refuse the input, with this message.
    Rejected(String),
    Memory(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Memory(error)
    }
}

pub fn reject(message: &str) -> Outcome {
    Err(Failure::Rejected(String::from(message)))
}

/// An outcome as what the host expects: an output, or a negative code.
pub fn finish(outcome: Outcome) -> Result<Vec<u8>, i32> {
    match outcome {
        Ok(json) => Ok(json.into_bytes()),
        Err(Failure::Rejected(message)) => {
            let mut error = Object::new();
            error.string("code", "INVALID_INPUT");
            error.string("message", &message);
            let mut output = Object::new();
            output.raw("__rotifer_error", &error.end());
            Ok(output.end().into_bytes())
        }
        // -4 leaves no payload, and nothing to go on with
        Err(Failure::Memory(error)) if error.payload.is_empty() => Err(error.code.result().min(-1)),
        Err(Failure::Memory(error)) => Ok(error.payload),
    }
}

static mut OUTPUT: Vec<u8> = Vec::new(); // kept until the next call: the host reads it after `express`

pub fn export_alloc(len: usize) -> *mut u8 {
    let mut input = Vec::<u8>::with_capacity(len);
    let at = input.as_mut_ptr();
    core::mem::forget(input); // `export_express` takes it back
    at
}

/// # Safety
/// `at` must be what `export_alloc(len)` returned, filled, and not be used again.
pub unsafe fn export_express(at: *mut u8, len: usize, express: fn(Json) -> Outcome) -> i32 {
    let input = Vec::from_raw_parts(at, len, len);
    match finish(express(text(&input))) {
        Ok(mut output) => {
            output.push(0);
            OUTPUT = output;
            OUTPUT.as_ptr() as i32
        }
        Err(code) => code,
    }
}

/// Export `alloc` and `express` for a function from `Json` to `Outcome`.
#[macro_export]
macro_rules! rotifer_gene {
    ($express:path) => {
        #[no_mangle]
        pub extern "C" fn alloc(len: usize) -> *mut u8 {
            $crate::rotifer::export_alloc(len)
        }

        /// # Safety
        /// For the host alone: `at` is what `alloc` returned.
        #[no_mangle]
        pub unsafe extern "C" fn express(at: *mut u8, len: usize) -> i32 {
            $crate::rotifer::export_express(at, len, $express)
        }
    };
}
pub use crate::rotifer_gene as gene;
