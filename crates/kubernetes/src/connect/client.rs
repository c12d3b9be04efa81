//! A cluster's API through the crate `kube`: requests, and the streams of commands in pods.

use crate::api::{Api, Call, ClusterError};
use crate::manifest::CONTAINER;
use crate::spec::Cluster;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{AttachParams, AttachedProcess};
use kube::client::UpgradeConnectionError;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use prony_host::{Channel, TransportGuard};
use serde_json::Value;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as Socket;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::AbortHandle;

/// Timeout of a reply.
const ANSWER: Duration = Duration::from_secs(30);
/// Size of the buffer of each stream between the cluster and prony, bytes.
const BUFFER: usize = 256 << 10;
/// Maximum length of the error output of a command that is kept, bytes.
const SAID: usize = 4_000;
/// Time to receive the exit status of a command after its output has ended.
const LAST_WORD: Duration = Duration::from_secs(1);

/// Connects to a cluster according to the user's configuration.
pub(crate) fn connect(cluster: &Cluster) -> Result<Arc<dyn Api>, ClusterError> {
    let wrong = |reason: String| ClusterError::Config { reason };
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("prony-kubernetes")
        .enable_all()
        .build()
        .map_err(|error| wrong(error.to_string()))?;
    let options = KubeConfigOptions {
        context: cluster.context.clone(),
        ..KubeConfigOptions::default()
    };
    let named = cluster.kubeconfig.clone();
    let client = on(runtime.handle(), async move {
        let config = match named {
            Some(file) => {
                let read = Kubeconfig::read_from(&file).map_err(chain)?;
                Config::from_custom_kubeconfig(read, &options)
                    .await
                    .map_err(chain)
            }
            None if options.context.is_some() => Config::from_kubeconfig(&options).await.map_err(chain),
            None => Config::infer().await.map_err(chain),
        };
        Client::try_from(config?).map_err(chain)
    });
    let client = client.ok_or_else(|| wrong("timed out".to_owned()))?;
    Ok(Arc::new(ClusterConnection {
        client: client.map_err(wrong)?,
        runtime: Some(runtime),
    }))
}

/// An error with its causes.
fn chain(error: impl std::error::Error) -> String {
    let mut text = error.to_string();
    let mut below = error.source();
    while let Some(reason) = below {
        let told = reason.to_string();
        if !text.contains(&told) {
            text = format!("{text}: {told}");
        }
        below = reason.source();
    }
    text
}

/// Runs a future in a runtime and waits for it, from any thread; `None`: timeout.
fn on<T: Send + 'static>(handle: &Handle, what: impl Future<Output = T> + Send + 'static) -> Option<T> {
    let (sender, done) = mpsc::channel();
    let task = handle.spawn(async move {
        let _ = sender.send(what.await);
    });
    let result = done.recv_timeout(ANSWER);
    if result.is_err() {
        task.abort();
    }
    result.ok()
}

struct ClusterConnection {
    client: Client,
    /// `None` only while this is dropped.
    runtime: Option<Runtime>,
}

impl ClusterConnection {
    fn on<T: Send + 'static>(
        &self,
        what: impl Future<Output = Result<T, kube::Error>> + Send + 'static,
        asked: &str,
    ) -> Result<T, ClusterError> {
        let runtime = self.runtime.as_ref().expect("invariant: present until dropped");
        match on(runtime.handle(), what) {
            Some(Ok(value)) => Ok(value),
            Some(Err(kube::Error::Api(status))) => Err(ClusterError::Refused {
                what: asked.to_owned(),
                said: status.message.clone(),
                code: status.code,
            }),
            Some(Err(kube::Error::UpgradeConnection(UpgradeConnectionError::ProtocolSwitch(status)))) => {
                Err(ClusterError::Refused {
                    what: asked.to_owned(),
                    said: status.canonical_reason().unwrap_or("no reason given").to_owned(),
                    code: status.as_u16(),
                })
            }
            Some(Err(kube::Error::Auth(error))) => Err(ClusterError::Config { reason: chain(error) }),
            Some(Err(error)) => Err(ClusterError::Silent { reason: chain(error) }),
            None => Err(ClusterError::Silent {
                reason: format!("no reply within {} s to the request to {asked}", ANSWER.as_secs()),
            }),
        }
    }
}

impl Drop for ClusterConnection {
    fn drop(&mut self) {
        // Does not block: this may be dropped inside the runtime of a caller.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Api for ClusterConnection {
    fn call(&self, call: &Call) -> Result<Value, ClusterError> {
        let body = call.body.as_ref().map(Value::to_string).unwrap_or_default();
        let request = http::Request::builder()
            .method(call.method)
            .uri(&call.path)
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(body.into_bytes())
            .map_err(|error| ClusterError::Silent {
                reason: error.to_string(),
            })?;
        let client = self.client.clone();
        self.on(async move { client.request::<Value>(request).await }, &call.what)
    }

    fn exec(&self, namespace: &str, pod: &str, command: &[String]) -> Result<Channel, ClusterError> {
        let pods: kube::Api<Pod> = kube::Api::namespaced(self.client.clone(), namespace);
        let wanted = AttachParams::default()
            .container(CONTAINER)
            .stdin(true)
            .stdout(true)
            .stderr(true)
            .max_stdin_buf_size(BUFFER)
            .max_stdout_buf_size(BUFFER);
        let (name, words) = (pod.to_owned(), command.to_vec());
        let attached = self.on(
            async move { pods.exec(&name, words, &wanted).await },
            &format!("run a command in the pod {pod}"),
        )?;
        let runtime = self.runtime.as_ref().expect("invariant: present until dropped");
        carried(runtime.handle(), attached).map_err(|error| ClusterError::Silent {
            reason: error.to_string(),
        })
    }
}

/// Turns the streams of a command into files, which all transports use.
fn carried(handle: &Handle, attached: AttachedProcess) -> io::Result<Channel> {
    let (input, from_pod) = Socket::pair()?;
    let (output, to_pod) = Socket::pair()?;
    let said = Arc::new(Mutex::new(String::new()));
    let (sender, ended) = mpsc::channel();
    for socket in [&from_pod, &to_pod] {
        socket.set_nonblocking(true)?;
    }
    let words = Arc::clone(&said);
    let task = handle.spawn(async move {
        if let Err(error) = carry(attached, from_pod, to_pod, &words).await {
            keep(&words, &error.to_string());
        }
        drop(sender);
    });
    let conduit = ExecConnection {
        task: task.abort_handle(),
        said,
        ended,
    };
    let file = |socket: Socket| File::from(OwnedFd::from(socket));
    Ok(Channel::new(file(input), file(output), Box::new(conduit)))
}

/// A command that is aborted when this is dropped.
struct ExecSession(AttachedProcess);

impl Drop for ExecSession {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Copies bytes until the command has ended.
async fn carry(
    attached: AttachedProcess,
    from_pod: Socket,
    to_pod: Socket,
    said: &Mutex<String>,
) -> io::Result<()> {
    let (mut from_pod, mut to_pod) = (UnixStream::from_std(from_pod)?, UnixStream::from_std(to_pod)?);
    let missing = || io::Error::other("the cluster returned no streams");
    let mut attached = ExecSession(attached);
    let attached = &mut attached.0;
    let mut stdin = attached.stdin().ok_or_else(missing)?;
    let mut stdout = attached.stdout().ok_or_else(missing)?;
    let stderr = attached.stderr().ok_or_else(missing)?;
    let status = attached.take_status();
    let up = async {
        let _ = tokio::io::copy(&mut to_pod, &mut stdin).await;
        let _ = stdin.shutdown().await;
        // The end of the input does not end the command: wait for its output.
        std::future::pending::<()>().await;
    };
    let down = async { tokio::join!(tokio::io::copy(&mut stdout, &mut from_pod), listen(stderr, said)).0 };
    tokio::select! {
        () = up => {}
        copied = down => { copied?; }
    }
    if let Some(status) = status
        && let Ok(Some(status)) = tokio::time::timeout(LAST_WORD, status).await
        && status.status.as_deref() == Some("Failure")
    {
        keep(said, &status.message.unwrap_or_default());
    }
    from_pod.shutdown().await
}

async fn listen(stderr: impl AsyncRead + Unpin, said: &Mutex<String>) {
    let mut lines = BufReader::new(stderr).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        keep(said, line.trim());
    }
}

/// Appends a line, and keeps the end of the text.
fn keep(said: &Mutex<String>, line: &str) {
    if line.is_empty() {
        return;
    }
    let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
    if !said.is_empty() {
        said.push('\n');
    }
    said.push_str(line);
    let over = said.len().saturating_sub(SAID);
    let cut = (over..said.len())
        .find(|&at| said.is_char_boundary(at))
        .unwrap_or(0);
    said.drain(..cut);
}

/// The task that copies the streams. They end with it.
struct ExecConnection {
    task: AbortHandle,
    said: Arc<Mutex<String>>,
    /// Closed when the task has ended.
    ended: Receiver<()>,
}

impl fmt::Debug for ExecConnection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Carrier")
    }
}

impl TransportGuard for ExecConnection {
    fn end(&mut self) {
        self.task.abort();
    }

    fn said(&mut self) -> Option<String> {
        let _ = self.ended.recv_timeout(LAST_WORD);
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        (!said.is_empty()).then(|| said.clone())
    }
}

impl Drop for ExecConnection {
    fn drop(&mut self) {
        self.end();
    }
}
