use super::*;
use std::fs;

fn repository(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }
    folder
}

/// Build and start of a repository: the commands, or why they are unknown.
fn guessed(files: &[(&str, &str)]) -> Vec<String> {
    let guess = guess(repository(files).path()).expect("a known ecosystem");
    let start = match guess.start {
        StartGuess::Run(command) => command,
        StartGuess::Containerfile(file) => format!("containerfile {file}"),
        StartGuess::Unknown { reason, .. } => format!("? {reason}"),
    };
    guess.build.into_iter().chain([start]).collect()
}

const LOCK: (&str, &str) = ("package-lock.json", "{}");

#[test]
fn node_is_started_by_its_script() {
    let package = |text: &'static str| ("package.json", text);
    assert_eq!(
        guessed(&[
            LOCK,
            package(r#"{"scripts":{"build":"tsc","start":"node dist/main.js --quiet"}}"#)
        ]),
        [
            "npm ci",
            "npm run build",
            "NODE_ENV=production exec node dist/main.js --quiet"
        ]
    );
    assert_eq!(
        guessed(&[
            ("yarn.lock", ""),
            package(r#"{"scripts":{"start":"next start && true"}}"#)
        ]),
        [
            "yarn install --frozen-lockfile",
            "NODE_ENV=production exec npm start"
        ]
    );
    assert_eq!(
        guessed(&[package(r#"{"name":"a"}"#), ("src/index.js", "")]),
        ["NODE_ENV=production exec node src/index.js"]
    );
    assert_eq!(guessed(&[package("{}")]), ["? it has no script `start`"]);
    // Its `main` is what others import.
    assert_eq!(
        guessed(&[
            package(r#"{"main":"fastify.js","types":"fastify.d.ts","dependencies":{"pino":"^10.1.0"}}"#),
            ("fastify.js", "")
        ]),
        [
            "npm install",
            "? it describes a library, and has no script `start`"
        ]
    );
}

#[test]
fn go_builds_the_server_among_its_commands() {
    let main = "package main\n";
    let module = ("go.mod", "module example.org/shop\n");
    assert_eq!(
        guessed(&[module, ("main.go", main), ("cmd/tool/main.go", main)]),
        ["go build -o prony-server .", "exec ./prony-server"]
    );
    assert_eq!(
        guessed(&[
            module,
            ("cmd/migrate/main.go", main),
            ("cmd/shop/main.go", main),
            ("shop.go", "package shop")
        ]),
        ["go build -o prony-server ./cmd/shop", "exec ./prony-server"]
    );
    let library = "/*\nPackage gin is a framework.\n\n\tpackage main\n*/\npackage gin\n";
    for files in [&[module][..], &[module, ("doc.go", library)]] {
        assert_eq!(
            guessed(files).last().map(String::as_str),
            Some("? no `package main` is in it or in cmd/*")
        );
    }
}

#[test]
fn cargo_builds_a_program_of_the_package_or_workspace() {
    let copy = |name: &str| format!("cp \"$CARGO_TARGET_DIR/release/{name}\" prony-server");
    assert_eq!(
        guessed(&[
            ("Cargo.toml", "[package]\nname = \"shop\"\n"),
            ("Cargo.lock", ""),
            ("src/main.rs", "")
        ]),
        [
            "cargo build --release --locked --bin shop".to_owned(),
            copy("shop"),
            "exec ./prony-server".to_owned()
        ]
    );
    assert_eq!(
        guessed(&[
            ("Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\n"),
            ("crates/cli/Cargo.toml", "[package]\nname = \"cli\"\n"),
            ("crates/cli/src/main.rs", ""),
            (
                "crates/http/Cargo.toml",
                "[package]\nname = \"http\"\n[[bin]]\nname = \"shop-server\"\n"
            ),
        ]),
        [
            "cargo build --release --bin shop-server".to_owned(),
            copy("shop-server"),
            "exec ./prony-server".to_owned()
        ]
    );
    let library = guessed(&[("Cargo.toml", "[package]\nname = \"shop\"\n"), ("src/lib.rs", "")]);
    assert_eq!(library, ["? it has no program, only libraries"]);
}

#[test]
fn jars_get_their_address_as_their_framework_reads_it() {
    let pom = "<project><parent><artifactId>spring-boot-starter-parent</artifactId></parent><artifactId>shop</artifactId>\
               <plugin><artifactId>spring-boot-maven-plugin</artifactId></plugin></project>";
    assert_eq!(
        guessed(&[("pom.xml", pom), ("mvnw", "")]),
        [
            "./mvnw -B -q -Dmaven.repo.local=$PRONY_M2 -DskipTests package",
            "exec java -jar target/shop-*.jar --server.port=$PORT --server.address=$HOST"
        ]
    );
    assert_eq!(
        guessed(&[
            ("pom.xml", "<packaging>pom</packaging>"),
            ("web/pom.xml", "<artifactId>web</artifactId>quarkus-maven-plugin")
        ])[1],
        "exec java -Dquarkus.http.host=$HOST -Dquarkus.http.port=$PORT -jar web/target/quarkus-app/quarkus-run.jar"
    );
    assert_eq!(
        guessed(&[
            ("build.gradle.kts", "plugins { id(\"org.springframework.boot\") }"),
            ("gradlew", "")
        ]),
        [
            "./gradlew --no-daemon -q bootJar",
            "exec java -jar build/libs/*.jar --server.port=$PORT --server.address=$HOST"
        ]
    );
    assert_eq!(
        guessed(&[
            ("build.gradle", "plugins { id 'application' }"),
            ("settings.gradle", "rootProject.name = 'shop'")
        ]),
        [
            "gradle --no-daemon -q installDist",
            "exec build/install/shop/bin/shop"
        ]
    );
}

#[test]
fn python_is_served_by_what_its_framework_needs() {
    let venv = "python3 -m venv .venv";
    assert_eq!(
        guessed(&[
            ("pyproject.toml", "dependencies = [\"fastapi\"]"),
            ("src/shop/main.py", "app = FastAPI(title=\"shop\")\n")
        ]),
        [
            venv,
            ".venv/bin/pip install -q . uvicorn",
            "PYTHONPATH=src exec .venv/bin/uvicorn shop.main:app --host $HOST --port $PORT --workers $WORKERS --no-access-log"
        ]
    );
    assert_eq!(
        guessed(&[
            ("requirements.txt", "Flask\ngunicorn\n"),
            (
                "shop/__init__.py",
                "def create_app():\n    app = Flask(__name__)\n"
            )
        ]),
        [
            venv,
            ".venv/bin/pip install -q -r requirements.txt",
            "exec .venv/bin/gunicorn --bind $HOST:$PORT --workers $WORKERS 'shop:create_app()'"
        ]
    );
    let manage = "os.environ.setdefault(\"DJANGO_SETTINGS_MODULE\", \"shop.settings\")";
    let django = guessed(&[
        ("uv.lock", ""),
        ("pyproject.toml", "django, gunicorn"),
        ("manage.py", manage),
    ]);
    assert_eq!(
        django,
        [
            "uv sync --frozen",
            "exec .venv/bin/gunicorn --bind $HOST:$PORT --workers $WORKERS shop.wsgi"
        ]
    );
}

#[test]
fn ruby_dotnet_and_containers() {
    assert_eq!(
        guessed(&[("Gemfile", "gem \"puma\""), ("config.ru", "")])[2],
        "RACK_ENV=production exec bundle exec puma -b tcp://$HOST:$PORT"
    );
    assert_eq!(
        guessed(&[("src/Shop/Shop.csproj", "<Project Sdk=\"Microsoft.NET.Sdk.Web\">")]),
        [
            "dotnet publish src/Shop/Shop.csproj -c Release -o prony-out --nologo -v q",
            "ASPNETCORE_URLS=http://$HOST:$PORT exec dotnet prony-out/Shop.dll"
        ]
    );
    assert_eq!(
        guessed(&[("Dockerfile", "FROM scratch")]),
        ["containerfile Dockerfile"]
    );
    // A start that is known only to the container.
    assert_eq!(
        guessed(&[("Dockerfile", "FROM scratch"), ("package.json", "{}")]),
        ["containerfile Dockerfile"]
    );
    let both = guess(repository(&[("Dockerfile", ""), ("package.json", "{}"), ("server.js", "")]).path());
    let both = both.expect("a guess");
    assert!(
        both.remarks[0].starts_with("`containerfile = \"Dockerfile\"` instead"),
        "{both:?}"
    );
    assert_eq!(guess(repository(&[("README.md", "")]).path()), None);
}

#[test]
fn a_file_has_at_most_ten_lines_and_says_what_to_write() {
    let folder = repository(&[
        LOCK,
        (
            "package.json",
            r#"{"scripts":{"build":"tsc","start":"node 'a b.js'"}}"#,
        ),
    ]);
    let text = guess(folder.path()).expect("a guess").service_toml("shop");
    assert!(text.lines().count() <= 10, "{text}");
    let table: toml::Table = text.parse().expect("TOML");
    assert_eq!(
        table["run"].as_str(),
        Some("NODE_ENV=production exec node 'a b.js'")
    );
    assert_eq!(table["source"].as_str(), Some("."));
    let text = guess(repository(&[("package.json", "{}")]).path())
        .expect("a guess")
        .service_toml("shop");
    assert!(text.contains("# run = \"exec node server.js\""), "{text}");
}

#[test]
fn routes_are_found_in_the_notations_of_frameworks() {
    let folder = repository(&[
        (
            "app.js",
            "app.get('/items', list); router.get('/items/:id', one); app.post('/items', add)",
        ),
        (
            "main.go",
            "http.HandleFunc(\"/health\", ok)\nmux.HandleFunc(\"GET /v2/a\", a)",
        ),
        ("app.py", "@app.get(\"/users/{id}\")\n@app.route('/about')\n"),
        ("A.java", "@GetMapping(value = \"/orders\")\n"),
        ("main.rs", "Router::new().route(\"/ready\", get(ready))"),
        ("Program.cs", "app.MapGet(\"/time\", () => 1);"),
        ("test/a.js", "get('/of-a-test')"),
        ("src/a.test.ts", "app.get('/of-a-test', reply)"),
        ("server_test.go", "router.GET(\"/of-a-test\", reply)"),
        ("test_app.py", "@app.get('/of-a-test')"),
    ]);
    let found = routes(folder.path());
    assert_eq!(
        found.paths,
        [
            "/about", "/health", "/items", "/orders", "/ready", "/time", "/v2/a"
        ]
    );
    assert_eq!(found.with_parameters, ["/items/:id", "/users/{id}"]);
    fs::write(folder.path().join("openapi.yaml"), "openapi: 3.1.0").expect("written");
    assert_eq!(
        description(folder.path()),
        Some(folder.path().join("openapi.yaml"))
    );
}
