//! package.json: npm, Yarn, pnpm and Bun.

use super::Guess;
use super::folder::Folder;
use serde_json::Value;

/// Files that usually are the server, if nothing names one.
const SERVERS: [&str; 6] = [
    "server.js",
    "index.js",
    "app.js",
    "src/server.js",
    "src/index.js",
    "src/app.js",
];

/// Keys of packages that others import.
const OF_LIBRARIES: [&str; 5] = ["exports", "files", "module", "types", "typings"];

pub(super) fn guess(folder: &Folder) -> Option<Guess> {
    const FILE: &str = "package.json";
    let package: Value = serde_json::from_str(&folder.read(FILE)?).ok()?;
    let script = |name: &str| package["scripts"][name].as_str();
    let mut build: Vec<String> = install(folder, &package).into_iter().collect();
    if script("build").is_some() {
        build.push("npm run build".to_owned());
    }
    let main = package["main"].as_str().filter(|file| folder.has(file));
    let file = main.or_else(|| SERVERS.into_iter().find(|file| folder.has(file)));
    let is_library = OF_LIBRARIES.iter().any(|key| package.get(key).is_some());
    let unknown = |reason: &str| Guess::unknown(FILE, reason, "exec node server.js");
    let guess = match (script("start"), file) {
        (Some(start), _) => Guess::run(FILE, started_by(start)),
        (None, _) if is_library => unknown("it describes a library, and has no script `start`"),
        (None, Some(file)) => Guess::run(FILE, node(file)),
        (None, None) => unknown("it has no script `start`"),
    };
    Some(guess.with_toolchains(&["node"]).with_build(build))
}

/// The command that installs the packages of the lock file.
fn install(folder: &Folder, package: &Value) -> Option<String> {
    let command = if folder.has("package-lock.json") || folder.has("npm-shrinkwrap.json") {
        "npm ci"
    } else if folder.has("pnpm-lock.yaml") {
        "pnpm install --frozen-lockfile"
    } else if folder.has("yarn.lock") && folder.has(".yarnrc.yml") {
        "yarn install --immutable"
    } else if folder.has("yarn.lock") {
        "yarn install --frozen-lockfile"
    } else if folder.has("bun.lock") || folder.has("bun.lockb") {
        "bun install --frozen-lockfile"
    } else {
        let has = |key: &str| package[key].as_object().is_some_and(|all| !all.is_empty());
        return (has("dependencies") || has("devDependencies")).then(|| "npm install".to_owned());
    };
    Some(command.to_owned())
}

/// The script `start`, without npm if it only starts Node.js: npm would stay as another process.
fn started_by(start: &str) -> String {
    let is_plain = !start.contains(['&', '|', ';', '>', '<', '$', '`', '(']);
    match start.trim().strip_prefix("node ") {
        Some(rest) if is_plain => node(rest.trim()),
        _ => "NODE_ENV=production exec npm start".to_owned(),
    }
}

fn node(arguments: &str) -> String {
    format!("NODE_ENV=production exec node {arguments}")
}
