use std::env;

use deadpool_postgres::{Manager, ManagerConfig, Pool, PoolError, RecyclingMethod};
use tokio_postgres::NoTls;

/// A pool of at most `DATABASE_POOL` connections. They are opened when they are needed, so the database may come later
/// than the service, and go away for a while.
pub fn connect() -> Pool {
    let url = env::var("DATABASE_URL").expect("DATABASE_URL names the database");
    let size = env::var("DATABASE_POOL")
        .ok()
        .and_then(|size| size.parse().ok())
        .unwrap_or(16);
    let config = ManagerConfig {
        recycling_method: RecyclingMethod::Fast,
    };
    let manager = Manager::from_config(url.parse().expect("DATABASE_URL is valid"), NoTls, config);
    Pool::builder(manager)
        .max_size(size)
        .build()
        .expect("the pool needs no timer")
}

/// Why the database did not answer.
pub enum Failure {
    /// It is away, starts or stops.
    Away,
    /// It refused what we asked.
    Refused,
}

impl From<PoolError> for Failure {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) => error.into(),
            _ => Self::Away,
        }
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.code().map(|state| &state.code()[..2]) {
            None | Some("08" | "53" | "57") => Self::Away,
            Some(_) => Self::Refused,
        }
    }
}
