//! Keys of other tools, and what prony calls them.

/// Keys of other tools, in lower case, and the keys of prony that mean the same, the first that fits being proposed.
const KEYS: &[(&str, &[&str])] = &[
    ("assert", &["expect"]),
    ("assertion", &["expect"]),
    ("assertions", &["expect"]),
    ("asserts", &["expect"]),
    ("base_url", &["url"]),
    ("baseurl", &["url"]),
    ("body", &["json", "text", "json_contains"]),
    ("check", &["expect"]),
    ("checks", &["expect"]),
    ("clients", &["connections", "max_users"]),
    ("cmd", &["run"]),
    ("code", &["status"]),
    ("command", &["run", "probe"]),
    ("concurrency", &["connections"]),
    ("container", &["image"]),
    ("cpu", &["cpus"]),
    ("data", &["json", "value", "text"]),
    ("depends_on", &["needs"]),
    ("description", &["summary", "title"]),
    ("endpoint", &["http", "url"]),
    ("entrypoint", &["run"]),
    ("environment", &["env"]),
    ("expected", &["expect"]),
    ("extract", &["capture"]),
    ("form", &["text"]),
    ("header", &["headers"]),
    ("iterations", &["rounds", "times"]),
    ("json_body", &["json"]),
    ("jsonpath", &["json_contains", "json"]),
    ("max", &["most"]),
    ("method", &["http"]),
    ("params", &["with"]),
    ("path", &["http"]),
    ("pattern", &["matches"]),
    ("payload", &["json", "text", "message"]),
    ("port", &["url"]),
    ("pre", &["needs"]),
    ("protocol", &["protocols"]),
    ("query", &["http"]),
    ("ramp_up", &["ramp"]),
    ("rampup", &["ramp"]),
    ("regex", &["matches"]),
    ("regexp", &["matches"]),
    ("repeat", &["times"]),
    ("repetitions", &["rounds", "times"]),
    ("request", &["http", "operation"]),
    ("requests", &["operation", "sequence", "requests_per_user"]),
    ("response", &["expect"]),
    ("rps", &["rate"]),
    ("save", &["capture"]),
    ("scenario", &["workload"]),
    ("scenarios", &["workload"]),
    ("script", &["run", "sequence"]),
    ("service", &["services"]),
    ("setup", &["needs", "build"]),
    ("slo", &["capacity", "objective"]),
    ("stages", &["ramp", "steps"]),
    ("start", &["run"]),
    ("status_code", &["status"]),
    ("steps", &["sequence"]),
    ("target", &["url"]),
    ("test", &["case"]),
    ("tests", &["case"]),
    ("threads", &["connections"]),
    ("threshold", &["objective", "capacity"]),
    ("thresholds", &["objective", "capacity"]),
    ("time", &["duration"]),
    ("tolerate", &["tolerance"]),
    ("uri", &["url", "http"]),
    ("url", &["http"]),
    ("user", &["connections"]),
    ("users", &["connections", "max_users"]),
    ("validate", &["expect"]),
    ("variables", &["with", "value"]),
    ("vars", &["with", "value"]),
    ("vus", &["connections", "load"]),
    ("warmup", &["warm_up"]),
];

/// The key of prony for a key of another tool, if it is one of `known`.
pub(super) fn translated<'a>(key: &str, known: &[&'a str]) -> Option<&'a str> {
    let lower = key.to_lowercase();
    let (_, ours) = KEYS.iter().find(|(theirs, _)| *theirs == lower)?;
    ours.iter()
        .find_map(|name| known.iter().find(|known| *known == name).copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_key_is_translated_to_one_that_fits() {
        assert_eq!(translated("VUs", &["connections", "kind"]), Some("connections"));
        assert_eq!(translated("body", &["text", "status"]), Some("text"));
        assert_eq!(translated("body", &["status"]), None);
        assert!(KEYS.is_sorted(), "in order");
    }
}
