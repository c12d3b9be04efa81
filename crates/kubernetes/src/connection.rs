//! A cluster's API through the crate `kube`: requests, and the streams of commands in pods.

use crate::error::ClusterError;
use crate::manifest::CONTAINER;
use crate::spec::Cluster;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{AttachParams, AttachedProcess, DeleteParams, ListParams, PostParams};
use kube::client::UpgradeConnectionError;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, Resource, ResourceExt as _};
use prony_host::{Channel, TransportGuard};
use serde::de::DeserializeOwned;
use std::fmt::{self, Debug};
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
/// Number of attempts for a request that fails temporarily.
const TRIES: u32 = 4;
/// Pause before a failed request is repeated, and poll interval.
const PAUSE: Duration = Duration::from_millis(400);

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

/// A connection to the API, for one namespace.
pub(crate) struct Connection {
    client: Client,
    namespace: String,
    pause: Duration,
    /// `None` only while this is dropped.
    runtime: Option<Runtime>,
}

impl Connection {
    /// Connects to a cluster according to the user's configuration.
    pub(crate) fn open(cluster: &Cluster) -> Result<Self, ClusterError> {
        let options = KubeConfigOptions {
            context: cluster.context.clone(),
            ..KubeConfigOptions::default()
        };
        let named = cluster.kubeconfig.clone();
        Self::with(cluster, async move {
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
        })
    }

    /// Connects with the client that a future creates. It runs inside the runtime of the connection.
    pub(crate) fn with(
        cluster: &Cluster,
        client: impl Future<Output = Result<Client, String>> + Send + 'static,
    ) -> Result<Self, ClusterError> {
        let wrong = |reason: String| ClusterError::Config { reason };
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("prony-kubernetes")
            .enable_all()
            .build()
            .map_err(|error| wrong(error.to_string()))?;
        let client = on(runtime.handle(), client).ok_or_else(|| wrong("timed out".to_owned()))?;
        Ok(Self {
            client: client.map_err(wrong)?,
            namespace: cluster.namespace.clone(),
            pause: PAUSE.min(cluster.within / 20),
            runtime: Some(runtime),
        })
    }

    /// Pause before a failed request is repeated, and poll interval.
    pub(crate) const fn pause(&self) -> Duration {
        self.pause
    }

    /// Lists objects of the namespace. `what` completes "the cluster refuses to".
    pub(crate) fn list<K: Object>(&self, selected: &ListParams, what: &str) -> Result<Vec<K>, ClusterError> {
        self.repeat(what, || self.listing(selected))
    }

    /// The same with a single attempt.
    pub(crate) fn list_once<K: Object>(
        &self,
        selected: &ListParams,
        what: &str,
    ) -> Result<Vec<K>, ClusterError> {
        self.once(what, self.listing(selected))
    }

    fn listing<K: Object>(
        &self,
        selected: &ListParams,
    ) -> impl Future<Output = kube::Result<Vec<K>>> + Send + use<K> {
        let (objects, selected) = (self.objects::<K>(), selected.clone());
        async move { Ok(objects.list(&selected).await?.items) }
    }

    /// Creates a job.
    pub(crate) fn create(&self, job: &Job) -> Result<Job, ClusterError> {
        let mut repeated = false;
        self.repeat(&format!("create the job {}", job.name_any()), || {
            let (jobs, job) = (self.objects::<Job>(), job.clone());
            let repeats = std::mem::replace(&mut repeated, true);
            async move {
                match jobs.create(&PostParams::default(), &job).await {
                    // The first attempt was executed, but its reply was lost.
                    Err(kube::Error::Api(status)) if repeats && status.code == 409 => {
                        jobs.get(&job.name_any()).await
                    }
                    other => other,
                }
            }
        })
    }

    /// Deletes an object, and everything that it owns. An object that no longer exists is not an error.
    pub(crate) fn delete<K: Object>(&self, name: &str, what: &str) -> Result<(), ClusterError> {
        let deleted = self.repeat(what, || {
            let (objects, name) = (self.objects::<K>(), name.to_owned());
            async move {
                let deleted = objects.delete(&name, &DeleteParams::background()).await;
                deleted.map(drop)
            }
        });
        match deleted {
            Err(ClusterError::Refused { code: 404, .. }) => Ok(()),
            other => other,
        }
    }

    /// Asks whether the user has a right.
    pub(crate) fn review(
        &self,
        review: &SelfSubjectAccessReview,
    ) -> Result<SelfSubjectAccessReview, ClusterError> {
        self.repeat("report the rights of the user", || {
            let reviews: Api<SelfSubjectAccessReview> = Api::all(self.client.clone());
            let review = review.clone();
            async move { reviews.create(&PostParams::default(), &review).await }
        })
    }

    /// Starts a command in a pod's container. The channel is its input and output.
    pub(crate) fn exec(&self, pod: &str, command: &[String]) -> Result<Channel, ClusterError> {
        let pods = self.objects::<Pod>();
        let wanted = AttachParams::default()
            .container(CONTAINER)
            .stdin(true)
            .stdout(true)
            .stderr(true)
            .max_stdin_buf_size(BUFFER)
            .max_stdout_buf_size(BUFFER);
        let (name, words) = (pod.to_owned(), command.to_vec());
        let attached = self.once(&format!("run a command in the pod {pod}"), async move {
            pods.exec(&name, words, &wanted).await
        })?;
        carried(self.runtime(), attached).map_err(|error| ClusterError::Silent {
            reason: error.to_string(),
        })
    }

    fn objects<K: Object>(&self) -> Api<K> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    fn runtime(&self) -> &Handle {
        let runtime = self.runtime.as_ref();
        runtime.expect("invariant: present until dropped").handle()
    }

    /// Sends a request, and repeats it after a pause if there was no reply or the cluster was too busy.
    fn repeat<T: Send + 'static, F: Future<Output = kube::Result<T>> + Send + 'static>(
        &self,
        what: &str,
        mut request: impl FnMut() -> F,
    ) -> Result<T, ClusterError> {
        let mut tries = 1;
        loop {
            match self.once(what, request()) {
                Err(error) if tries < TRIES && error.passes() => {
                    std::thread::sleep(self.pause * tries);
                    tries += 1;
                }
                other => return other,
            }
        }
    }

    /// Sends a request once. Returns within bounded time.
    fn once<T: Send + 'static>(
        &self,
        what: &str,
        request: impl Future<Output = kube::Result<T>> + Send + 'static,
    ) -> Result<T, ClusterError> {
        match on(self.runtime(), request) {
            Some(Ok(value)) => Ok(value),
            Some(Err(kube::Error::Api(status))) => Err(ClusterError::Refused {
                what: what.to_owned(),
                said: status.message.clone(),
                code: status.code,
            }),
            Some(Err(kube::Error::UpgradeConnection(UpgradeConnectionError::ProtocolSwitch(status)))) => {
                Err(ClusterError::Refused {
                    what: what.to_owned(),
                    said: status.canonical_reason().unwrap_or("no reason given").to_owned(),
                    code: status.as_u16(),
                })
            }
            Some(Err(kube::Error::Auth(error))) => Err(ClusterError::Config { reason: chain(error) }),
            Some(Err(error)) => Err(ClusterError::Silent { reason: chain(error) }),
            None => Err(ClusterError::Silent {
                reason: format!("no reply within {} s to the request to {what}", ANSWER.as_secs()),
            }),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Does not block: this may be dropped inside the runtime of a caller.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// An object of a namespace.
pub(crate) trait Object:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned + Send + 'static
{
}

impl<K> Object for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + DeserializeOwned
        + Send
        + 'static
{
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

impl Debug for ExecConnection {
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
