//! pyproject.toml, requirements.txt and manage.py.

use super::Guess;
use super::folder::Folder;
use regex::Regex;
use std::path::Path;

/// A server's application.
struct Application {
    /// `FastAPI`, `Flask` or another class.
    class: String,
    /// `module:name`, relative to the folder with the modules.
    name: String,
    /// Whether `name` is a function that makes it.
    is_factory: bool,
    /// The folder with the modules, unless it is the top folder.
    path: Option<&'static str>,
}

pub(super) fn guess(folder: &Folder) -> Option<Guess> {
    let files = ["pyproject.toml", "requirements.txt", "manage.py"];
    let file = files.into_iter().find(|file| folder.has(file))?;
    let texts = files.iter().filter_map(|file| folder.read(file));
    let packages = texts.collect::<Vec<_>>().join("\n").to_ascii_lowercase();
    let application = application(folder);
    let mut extra = Vec::new();
    let command = if folder.has("manage.py") {
        django(folder, &packages)
    } else {
        application.map(|application| {
            let is_asgi = application.class != "Flask";
            let has_server = ["uvicorn", "fastapi[standard]", "fastapi[all]"]
                .iter()
                .any(|name| packages.contains(name));
            if is_asgi && !has_server {
                extra.push("uvicorn");
            }
            started(&application, &packages)
        })
    };
    let guess = match command {
        Some(command) => Guess::run(file, command),
        None => Guess::unknown(
            file,
            "no application of FastAPI, Starlette, Flask or Django is in it",
            "exec .venv/bin/python app.py",
        ),
    };
    let guess = guess
        .with_toolchains(&["python"])
        .with_build(install(folder, &extra));
    let is_development = |command: &str| command.contains("flask --app") || command.contains("runserver");
    Some(match &guess.start {
        super::StartGuess::Run(command) if is_development(command) => {
            guess.remark("This is the development server: its packages have no gunicorn, which would serve as in production.")
        }
        _ => guess,
    })
}

/// The commands that install the packages, and these in addition.
fn install(folder: &Folder, extra: &[&str]) -> Vec<String> {
    let more = match extra {
        [] => String::new(),
        packages => format!(" {}", packages.join(" ")),
    };
    if folder.has("uv.lock") {
        let mut build = vec!["uv sync --frozen".to_owned()];
        build.extend((!more.is_empty()).then(|| format!("uv pip install -q{more}")));
        return build;
    }
    if folder.has("poetry.lock") {
        let mut build = vec!["POETRY_VIRTUALENVS_IN_PROJECT=1 poetry install -q".to_owned()];
        build.extend((!more.is_empty()).then(|| format!("poetry run pip install -q{more}")));
        return build;
    }
    let what = if folder.has("requirements.txt") {
        "-r requirements.txt"
    } else {
        "."
    };
    vec![
        "python3 -m venv .venv".to_owned(),
        format!(".venv/bin/pip install -q {what}{more}"),
    ]
}

/// The first application that a module defines.
fn application(folder: &Folder) -> Option<Application> {
    let defined = Regex::new(r"(?m)^(\w+)\s*(?::\s*\w+\s*)?=\s*(FastAPI|Starlette|Litestar|Quart|Flask)\(");
    let factory =
        Regex::new(r"(?ms)^def (create_app|make_app|get_app)\(.*?(FastAPI|Starlette|Litestar|Quart|Flask)\(");
    let (defined, factory) = (
        defined.expect("invariant: a valid expression"),
        factory.expect("invariant: a valid expression"),
    );
    let texts: Vec<(&Path, String)> = folder
        .with_extension("py")
        .filter_map(|path| Some((path, folder.read(path)?)))
        .collect();
    let found = |expression: &Regex, is_factory: bool| {
        texts.iter().find_map(|(path, text)| {
            let groups = expression.captures(text)?;
            let path_below = path.strip_prefix("src").ok();
            let module = module(path_below.unwrap_or(path))?;
            Some(Application {
                class: groups[2].to_owned(),
                name: format!("{module}:{}", &groups[1]),
                is_factory,
                path: path_below.map(|_| "src"),
            })
        })
    };
    found(&defined, false).or_else(|| found(&factory, true))
}

/// The name of the module in a file.
fn module(path: &Path) -> Option<String> {
    let path = path.with_extension("");
    let path = if path.ends_with("__init__") {
        path.parent()?.to_owned()
    } else {
        path
    };
    let names: Option<Vec<&str>> = path.iter().map(|name| name.to_str()).collect();
    names.map(|names| names.join("."))
}

fn started(application: &Application, packages: &str) -> String {
    let name = &application.name;
    let path = application
        .path
        .map(|path| format!("PYTHONPATH={path} "))
        .unwrap_or_default();
    if application.class != "Flask" {
        let factory = if application.is_factory { " --factory" } else { "" };
        return format!(
            "{path}exec .venv/bin/uvicorn{factory} {name} --host $HOST --port $PORT --workers $WORKERS --no-access-log"
        );
    }
    let call = if application.is_factory { "()" } else { "" };
    if packages.contains("gunicorn") {
        format!("{path}exec .venv/bin/gunicorn --bind $HOST:$PORT --workers $WORKERS '{name}{call}'")
    } else {
        format!("{path}exec .venv/bin/flask --app '{name}{call}' run --host $HOST --port $PORT")
    }
}

/// The command of a project of Django, by the settings that `manage.py` names.
fn django(folder: &Folder, packages: &str) -> Option<String> {
    let manage = folder.read("manage.py")?;
    let settings = Regex::new(r#"DJANGO_SETTINGS_MODULE["'],\s*["']([\w.]+?)\.settings"#);
    let settings = settings.expect("invariant: a valid expression");
    let project = &settings.captures(&manage)?[1];
    Some(if packages.contains("gunicorn") {
        format!("exec .venv/bin/gunicorn --bind $HOST:$PORT --workers $WORKERS {project}.wsgi")
    } else {
        "exec .venv/bin/python manage.py runserver --noreload $HOST:$PORT".to_owned()
    })
}
