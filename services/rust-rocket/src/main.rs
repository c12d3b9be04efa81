//! A server with Rocket on tokio.

mod numbers;

use std::env;

use rocket::http::Status;
use rocket::{Build, Config, Rocket, get, launch, routes};

#[launch]
fn rocket() -> Rocket<Build> {
    // The release profile of Config: no log but of what is critical.
    let mut config = Config::figment()
        .merge(("address", setting("HOST", "127.0.0.1")))
        .merge(("port", setting("PORT", "8080").parse::<u16>().expect("PORT is a port")));
    if let Ok(workers) = setting("WORKERS", "").parse::<usize>() {
        config = config.merge(("workers", workers));
    }
    rocket::custom(config).mount("/api", routes![hello, count, fib])
}

#[get("/test")]
const fn hello() -> &'static str {
    "Hello, World!"
}

#[get("/count/<n>")]
fn count(n: &str) -> Result<String, Status> {
    numbers::parse(n).map(numbers::count).ok_or(Status::BadRequest)
}

#[get("/fib/<n>")]
fn fib(n: &str) -> Result<String, Status> {
    numbers::parse(n).map(numbers::fib).ok_or(Status::BadRequest)
}

fn setting(name: &str, default: &str) -> String {
    env::var(name).unwrap_or_else(|_| default.to_owned())
}
