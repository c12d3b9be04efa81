//! A pool of connections for servers whose threads wait.

use std::fs;
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio_postgres::{Client, Config, Error, NoTls};

/// Connections of a pool. Four pools are in use at once, and the server has a hundred.
const MOST: usize = 8;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build();
    runtime.expect("a runtime")
});

pub(crate) struct Database {
    config: Config,
    idle: Mutex<Vec<Client>>,
    places: Semaphore,
}

/// The working folder of the server that listens at this port, which is its data folder.
fn data_folder(port: u16) -> PathBuf {
    let option = format!("\0-p\0{port}\0");
    let mut processes = fs::read_dir("/proc").expect("/proc").flatten();
    let server = processes.find(|process| {
        let command = fs::read(process.path().join("cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command);
        command.contains("postgres\0") && command.contains(&option)
    });
    server.expect("the server").path().join("cwd")
}

impl Database {
    /// The database `prony` of the server with this URL, over the socket in its data folder: over TCP it accepts no other database.
    pub(crate) fn at(url: &str) -> Self {
        let over_tcp: Config = url.parse().expect("a URL");
        let port = over_tcp.get_ports()[0];
        let mut config = Config::new();
        config.host_path(data_folder(port)).port(port);
        config.user("prony").dbname("prony");
        Self::of(config)
    }

    fn of(config: Config) -> Self {
        Self {
            config,
            idle: Mutex::default(),
            places: Semaphore::new(MOST),
        }
    }

    /// Another one of the same server.
    pub(crate) fn beside(&self, user: &str, name: &str) -> Self {
        let mut config = self.config.clone();
        config.user(user).dbname(name);
        Self::of(config)
    }

    /// Does something on a connection of the pool.
    pub(crate) fn run<T, E: From<Error>>(
        &self,
        work: impl AsyncFnOnce(&mut Client) -> Result<T, E>,
    ) -> Result<T, E> {
        RUNTIME.block_on(async {
            let _place = self.places.acquire().await.expect("never closed");
            let idle = self.idle.lock().expect("no panic").pop();
            let mut client = match idle {
                Some(client) => client,
                None => self.connect().await?,
            };
            let done = work(&mut client).await;
            self.idle.lock().expect("no panic").push(client);
            done
        })
    }

    /// Does what statements say.
    pub(crate) fn order(&self, statements: &str) {
        let done = self.run(async |client| client.batch_execute(statements).await);
        done.unwrap_or_else(|error| panic!("{statements}: {error:?}"));
    }

    async fn connect(&self) -> Result<Client, Error> {
        let (client, connection) = self.config.connect(NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    }
}
