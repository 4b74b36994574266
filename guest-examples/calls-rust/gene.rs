//! Makes the memory call that its input describes: every field of every request, typed.
//!
//!     in   {"call": "read" | "write" | "query" | "delete", …}; see phenotype.json
//!     out  {"entries": […]} or {"failed": {"result", "code", "message"}}
//!
//! A value is text. ../calls-c, ../calls-zig and ../calls-assemblyscript do the same.
mod rotifer;
use rotifer::{AccessPolicy, Category, Entry, Filter, Json, Object, Outcome, Retention, RetentionPolicy, Scope, Share, Write};

rotifer::gene!(run);

fn run(input: Json) -> Outcome {
    match make(input) {
        Some(Ok(entries)) => {
            let entries: Vec<String> = entries.iter().map(described).collect();
            let mut output = Object::new();
            output.raw("entries", &rotifer::array(entries.iter().map(String::as_str)));
            Ok(output.end())
        }
        Some(Err(error)) => {
            let mut failed = Object::new();
            failed.integer("result", i64::from(error.code.result()));
            failed.string("code", &error.name);
            failed.string("message", &error.message);
            let mut output = Object::new();
            output.raw("failed", &failed.end());
            Ok(output.end())
        }
        None => rotifer::reject("the input is not as phenotype.json says"),
    }
}

/// The entries a call gave; `None` for an input that describes none.
fn make(input: Json) -> Option<Result<Vec<Entry>, rotifer::Error>> {
    let text = |name| input.member(name).and_then(Json::string);
    let category = match text("category") {
        Some(name) => Some(category(&name)?),
        None => None,
    };
    Some(match text("call")?.as_str() {
        "read" => rotifer::read(&text("key")?, category).map(|entry| entry.into_iter().collect()),
        "write" => {
            let (key, value) = (text("key")?, text("value")?);
            let mut request = Write::new(&key, value.as_bytes(), category?);
            if let Some(policy) = input.member("access") {
                request.access = Some(access(policy)?);
            }
            if let Some(policy) = input.member("retention") {
                request.retention = if policy.0 == "null" { Retention::Reset } else { Retention::Set(retention(policy)?) };
            }
            rotifer::write(&request).map(|entry| vec![entry])
        }
        "query" => rotifer::query(&Filter {
            category,
            key_prefix: text("keyPrefix").as_deref(),
            since: text("since").as_deref(),
            until: text("until").as_deref(),
            limit: input.member("limit").and_then(Json::integer).map(|limit| limit as u32),
        }),
        "delete" => rotifer::delete(&text("key")?).map(|()| Vec::new()),
        _ => return None,
    })
}

fn category(name: &str) -> Option<Category> {
    Some(match name {
        "PREFERENCE" => Category::Preference,
        "PATTERN" => Category::Pattern,
        "CONTEXT" => Category::Context,
        "CACHE" => Category::Cache,
        _ => return None,
    })
}

fn scope(name: &str) -> Option<Scope> {
    Some(match name {
        "CREATOR_GENE_ONLY" => Scope::CreatorGeneOnly,
        "SAME_DOMAIN" => Scope::SameDomain,
        "ALL_GENES" => Scope::AllGenes,
        _ => return None,
    })
}

fn access(policy: Json) -> Option<AccessPolicy> {
    let text = |name| policy.member(name).and_then(Json::string);
    Some(AccessPolicy {
        read: scope(&text("readScope")?)?,
        write: scope(&text("writeScope")?)?,
        share: match text("sharePolicy")?.as_str() {
            "PRIVATE" => Share::Private,
            "ANONYMIZED_SHARE" => Share::AnonymizedShare,
            "KNOWLEDGE_GENE" => Share::KnowledgeGene,
            _ => return None,
        },
    })
}

fn retention(policy: Json) -> Option<RetentionPolicy> {
    Some(RetentionPolicy {
        max_retention_days: policy.member("maxRetentionDays")?.integer().map(|days| days as u32),
        auto_delete_on_termination: policy.member("autoDeleteOnTermination")?.0 == "true",
        anonymization_supported: policy.member("anonymizationSupported")?.0 == "true",
    })
}

fn described(entry: &Entry) -> String {
    let mut json = Object::new();
    json.string("entryId", &entry.entry_id);
    json.string("category", rotifer::category_name(entry.category));
    json.string("key", &entry.key);
    json.string("value", &String::from_utf8_lossy(&entry.value));
    json.string("createdBy", &entry.created_by);
    json.string("lastAccessedBy", &entry.last_accessed_by);
    json.string("createdAt", &entry.created_at);
    json.string("updatedAt", &entry.updated_at);
    let mut access = Object::new();
    access.string("readScope", rotifer::scope_name(entry.access.read));
    access.string("writeScope", rotifer::scope_name(entry.access.write));
    access.string("sharePolicy", rotifer::share_name(entry.access.share));
    json.raw("accessPolicy", &access.end());
    match entry.retention {
        None => json.raw("retentionPolicy", "null"),
        Some(policy) => {
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
    json.end()
}
