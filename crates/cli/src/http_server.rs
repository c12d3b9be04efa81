//! The HTTP server of `prony serve` and of `prony load --metrics`.

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use std::io;
use std::net::SocketAddr;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

/// A bound server. It uses only the thread that calls [`HttpServer::serve`], because more threads would take CPU time from a
/// measurement.
pub(crate) struct HttpServer {
    runtime: Runtime,
    listener: TcpListener,
    address: SocketAddr,
}

impl HttpServer {
    pub(crate) fn bind(address: SocketAddr) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind(address))?;
        let address = listener.local_addr()?;
        Ok(Self {
            runtime,
            listener,
            address,
        })
    }

    /// The listening address, with the port that the kernel chose if the requested one was 0.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn serve(self, routes: Router) -> io::Result<()> {
        self.runtime
            .block_on(axum::serve(self.listener, routes).into_future())
    }

    /// Serves until Ctrl-C. Open connections are dropped: a graceful shutdown would wait forever for streams to open pages.
    pub(crate) fn serve_until_ctrl_c(self, routes: Router) -> io::Result<()> {
        self.runtime.block_on(async {
            tokio::select! {
                ended = axum::serve(self.listener, routes) => ended,
                interrupted = tokio::signal::ctrl_c() => interrupted,
            }
        })
    }
}

/// A reply in the text format of Prometheus.
pub(crate) fn exposition(text: String) -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text)
}
