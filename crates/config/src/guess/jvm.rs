//! pom.xml and build.gradle.

use super::Guess;
use super::folder::Folder;
use regex::Regex;
use std::path::Path;

/// How a jar of Spring Boot gets its address.
const SPRING: &str = "--server.port=$PORT --server.address=$HOST";
const QUARKUS: &str = "exec java -Dquarkus.http.host=$HOST -Dquarkus.http.port=$PORT -jar";

pub(super) fn maven(folder: &Folder) -> Option<Guess> {
    const FILE: &str = "pom.xml";
    const EXAMPLE: &str = "exec java -jar target/shop.jar";
    folder.read(FILE)?;
    let mvn = if folder.has("mvnw") { "./mvnw" } else { "mvn" };
    let build = vec![format!(
        "{mvn} -B -q -Dmaven.repo.local=$PRONY_M2 -DskipTests package"
    )];
    // The module of several that makes the server.
    let poms = folder.files().filter(|path| path.ends_with(FILE));
    let known = poms.filter_map(|path| {
        let text = folder.read(path)?;
        let place = path.parent().unwrap_or(Path::new(""));
        started_by_maven(&text, place)
    });
    let guess = match known.into_iter().next() {
        Some(command) => Guess::run(FILE, command),
        None => Guess::unknown(
            FILE,
            "neither Spring Boot, Quarkus nor Micronaut is in it",
            EXAMPLE,
        ),
    };
    Some(guess.with_toolchains(&["jdk"]).with_build(build))
}

/// The command for the result of a module.
fn started_by_maven(pom: &str, place: &Path) -> Option<String> {
    let target = place.join("target").display().to_string();
    if pom.contains("quarkus-maven-plugin") {
        return Some(format!("{QUARKUS} {target}/quarkus-app/quarkus-run.jar"));
    }
    let jar = format!("{target}/{}-*.jar", artifact(pom)?);
    if pom.contains("spring-boot-maven-plugin") {
        return Some(format!("exec java -jar {jar} {SPRING}"));
    }
    pom.contains("micronaut-maven-plugin")
        .then(|| format!("MICRONAUT_SERVER_HOST=$HOST MICRONAUT_SERVER_PORT=$PORT exec java -jar {jar}"))
}

/// The name of the artifact of a module, which follows that of its parent.
fn artifact(pom: &str) -> Option<String> {
    let own = pom.split_once("</parent>").map_or(pom, |(_, own)| own);
    let name =
        Regex::new(r"<artifactId>\s*([\w.-]+)\s*</artifactId>").expect("invariant: a valid expression");
    Some(name.captures(own)?[1].to_owned())
}

pub(super) fn gradle(folder: &Folder) -> Option<Guess> {
    const EXAMPLE: &str = "exec java -jar build/libs/shop.jar";
    let file = ["build.gradle.kts", "build.gradle"]
        .into_iter()
        .find(|file| folder.has(file))?;
    let gradle = if folder.has("gradlew") {
        "./gradlew"
    } else {
        "gradle"
    };
    let task = |task: &str| vec![format!("{gradle} --no-daemon -q {task}")];
    let builds = folder
        .files()
        .filter(|path| path.ends_with("build.gradle.kts") || path.ends_with("build.gradle"));
    let found = builds.filter_map(|path| {
        let text = folder.read(path)?;
        let place = path.parent().unwrap_or(Path::new(""));
        let build = place.join("build").display().to_string();
        if text.contains("org.springframework.boot") && !text.contains("apply false") {
            return Some((
                task("bootJar"),
                format!("exec java -jar {build}/libs/*.jar {SPRING}"),
            ));
        }
        if text.contains("io.quarkus") {
            return Some((
                task("quarkusBuild"),
                format!("{QUARKUS} {build}/quarkus-app/quarkus-run.jar"),
            ));
        }
        let is_application = Regex::new(r#"\bapplication\b|id\(?\s*["']application["']"#);
        let is_application = is_application
            .expect("invariant: a valid expression")
            .is_match(&text);
        let name = name(folder, place)?;
        is_application.then(|| {
            (
                task("installDist"),
                format!("exec {build}/install/{name}/bin/{name}"),
            )
        })
    });
    let guess = match found.into_iter().next() {
        Some((build, command)) => Guess::run(file, command).with_build(build),
        None => Guess::unknown(
            file,
            "neither Spring Boot, Quarkus nor the plugin `application` is in it",
            EXAMPLE,
        )
        .with_build(task("assemble")),
    };
    Some(guess.with_toolchains(&["jdk"]))
}

/// The name of a project: that of its folder, or the one in the settings.
fn name(folder: &Folder, place: &Path) -> Option<String> {
    if let Some(name) = place.file_name() {
        return Some(name.to_string_lossy().into_owned());
    }
    let settings = ["settings.gradle.kts", "settings.gradle"]
        .into_iter()
        .find_map(|file| folder.read(file))?;
    let name = Regex::new(r#"rootProject\.name\s*=\s*["']([\w.-]+)["']"#);
    let name = name.expect("invariant: a valid expression");
    Some(name.captures(&settings)?[1].to_owned())
}
