//! The description of its API that a server offers.

use prony_config::import::{Draft, from_openapi};
use prony_load::{Body, Protocol, Request, Target, Template};
use prony_protocols::client::{BodyFraming, Client, ClientError, Reply};
use prony_protocols::request_values::Parameters;
use std::time::{Duration, Instant};

/// Where frameworks offer it: `FastAPI`, Spring, Swashbuckle, Quarkus, `NestJS`, Huma and others.
const PATHS: [&str; 9] = [
    "/openapi.json",
    "/v3/api-docs",
    "/swagger.json",
    "/swagger/v1/swagger.json",
    "/openapi/v1.json",
    "/q/openapi?format=json",
    "/api-json",
    "/api-docs",
    "/docs/openapi.json",
];
/// Timeout of each request.
const PATIENCE: Duration = Duration::from_secs(5);

/// A draft from the description of a running server, and its path.
pub(super) fn of_server(target: &Target) -> Option<(String, Draft)> {
    PATHS.iter().find_map(|path| {
        let reply = get(target, path).ok().filter(|reply| reply.status == 200)?;
        let file = tempfile::Builder::new().suffix(".json").tempfile().ok()?;
        std::fs::write(file.path(), &reply.body).ok()?;
        let mut draft = from_openapi(file.path()).ok()?;
        let name = format!("{path} of the server");
        draft.source.clone_from(&name);
        // The places of operations name the temporary file.
        for operation in &mut draft.operations {
            operation.from = format!("{} {} of {name}", operation.method, operation.path);
        }
        for omission in &mut draft.omitted {
            omission.place.clone_from(&name);
        }
        Some((name, draft))
    })
}

fn get(target: &Target, path: &str) -> Result<Reply, ClientError> {
    let request = Request {
        method: "GET".to_owned(),
        path: Template::literal(path),
        headers: Vec::new(),
        body: Body::None,
    };
    let client = Client::new(target, Protocol::Http1)?;
    let deadline = Instant::now() + PATIENCE;
    let mut connection = client.connect(deadline)?;
    let request = client.prepare(&request, BodyFraming::Length)?;
    let token = connection.start(&request, Parameters::new(&[], 0).values(0));
    connection.reply(token, deadline)
}
