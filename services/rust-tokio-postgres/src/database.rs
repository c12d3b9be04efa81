use std::env;
use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_postgres::{Client, Config, Error, NoTls, Statement};

const PATIENCE: Duration = Duration::from_secs(2);

/// Every statement that has values or is asked often.
#[derive(Clone, Copy)]
pub enum Query {
    Order,
    Page,
    Prices,
    Customer,
    InsertOrder,
    InsertLines,
    LockOrder,
    UpdateOrder,
    DeleteOrder,
    OrderExists,
    Fortunes,
}

/// How many there are.
const QUERIES: usize = Query::Fortunes as usize + 1;

impl Query {
    /// The statements of `rust-axum-postgres`, without what a reply needs not hold.
    fn sql(self) -> &'static str {
        match self {
            Self::Order => {
                "select o.id, o.customer_id, o.status, o.note, o.total_cents, o.version, l.product_id, l.quantity, l.price_cents \
                 from orders o join order_line l on l.order_id = o.id where o.id = $1 order by l.line"
            }
            Self::Page => {
                "select o.id, o.customer_id, o.status, o.note, o.total_cents, o.version from orders o \
                 where o.customer_id = $1::bigint and o.id > $2 order by o.id limit $3"
            }
            Self::Prices => "select id, price_cents from product where id = any($1::bigint[])",
            Self::Customer => "select from customer where id = $1::bigint",
            Self::InsertOrder => {
                "insert into orders (customer_id, status, note, total_cents) values ($1, 'open', $2, $3) returning id"
            }
            // The id of the order is the last that this connection drew, so that nobody has to wait for it.
            Self::InsertLines => {
                "insert into order_line (order_id, line, product_id, quantity, price_cents) \
                 select (select lastval()), n, p, q, c from unnest($1::int[], $2::int[], $3::int[]) with ordinality as t (p, q, c, n)"
            }
            Self::LockOrder => "select status, version from orders where id = $1 for update",
            Self::UpdateOrder => {
                "update orders as o set status = $2, version = version + 1 where id = $1 \
                 returning o.id, o.customer_id, o.status, o.note, o.total_cents, o.version"
            }
            Self::DeleteOrder => "delete from orders where id = $1 and status = 'open'",
            Self::OrderExists => "select from orders where id = $1",
            Self::Fortunes => "select id, message from fortune",
        }
    }
}

/// At most so many connections. They are opened when they are needed, so the database may come later than the service,
/// and go away for a while.
pub struct Pool {
    config: Config,
    places: Semaphore,
    idle: Mutex<Vec<Connection>>,
}

pub struct Connection {
    pub client: Client,
    statements: [Option<Statement>; QUERIES],
}

/// A connection that is given back with [`Lease::end`]. Without that it is closed: what failed may be broken, or within a
/// transaction.
pub struct Lease<'a> {
    pub connection: Connection,
    pool: &'a Pool,
    _place: SemaphorePermit<'a>,
}

impl Pool {
    pub fn new(connections: usize) -> Self {
        let url = env::var("DATABASE_URL").expect("DATABASE_URL names the database");
        let mut config: Config = url.parse().expect("DATABASE_URL is valid");
        config.connect_timeout(PATIENCE);
        Self {
            config,
            places: Semaphore::new(connections),
            idle: Mutex::default(),
        }
    }

    pub async fn lend(&self) -> Result<Lease<'_>, Error> {
        let place = self.places.acquire().await.expect("it is never closed");
        let connection = match self.open() {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        Ok(Lease {
            connection,
            pool: self,
            _place: place,
        })
    }

    /// A connection that nobody uses and that is not broken.
    fn open(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().expect("nothing panics while it holds the lock");
        std::iter::from_fn(|| idle.pop()).find(|connection| !connection.client.is_closed())
    }

    async fn connect(&self) -> Result<Connection, Error> {
        let (client, connection) = self.config.connect(NoTls).await?;
        tokio::spawn(connection);
        Ok(Connection {
            client,
            statements: [const { None }; QUERIES],
        })
    }
}

impl Lease<'_> {
    pub fn end(self) {
        let mut idle = self
            .pool
            .idle
            .lock()
            .expect("nothing panics while it holds the lock");
        idle.push(self.connection);
    }
}

impl Connection {
    /// A statement, which is prepared where it is used for the first time: no contract needs all of them.
    pub async fn prepared(&mut self, query: Query) -> Result<Statement, Error> {
        if let Some(statement) = &self.statements[query as usize] {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(query.sql()).await?;
        Ok(self.statements[query as usize].insert(statement).clone())
    }
}

/// 503 while the database is away, starts or stops, and 500 for what is our own fault.
pub fn status_of(error: &Error) -> &'static str {
    match error.code().map(|state| &state.code()[..2]) {
        None | Some("08" | "53" | "57") => "503 Service Unavailable",
        Some(_) => "500 Internal Server Error",
    }
}
