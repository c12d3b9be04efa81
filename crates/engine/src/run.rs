//! Runs a job: starts the workers, keeps the phases, merges what they record.

use crate::assemble::{Material, recording};
use crate::clock::{now_ns, wall_offset_ns};
use crate::error::EngineError;
use crate::layer::{Layer, Plain};
use crate::protocol::{Protocol, grpc::Grpc, http1::Http1, http2::Http2};
use crate::recorder::{Part, Shape};
use crate::system;
use crate::tls::{TlsConfig, TlsLayer};
use crate::transport::{Transport, epoll::Epoll, uring::Uring};
use crate::worker::{Control, End, IntervalPart, Lines, Message, Place, Spoken, Worker};
use crate::workload::PreparedWorkload;
use prony_load::{Job, Load, TransportChoice, WarmUp};
use prony_measurement::{Command, Event, Histogram, Interval, Phase, Recording};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time between the decision for a phase and its begin, ns: more than a worker sleeps, so that all begin together.
const AHEAD: u64 = 12_000_000;
/// How often commands and clocks are looked at.
const LOOK: Duration = Duration::from_millis(5);
/// A wall clock that moves more than this against the monotonic one between two looks was set, ns.
const CLOCK_STEP: i64 = 20_000_000;

/// Runs a job from the first connection to the last reply.
///
/// `on_event` gets every [`Event::Phase`] and [`Event::Interval`] as it happens. `commands` is looked at all the time; a
/// sender that is gone has nothing more to say.
pub fn run(
    job: &Job,
    on_event: &mut dyn FnMut(Event),
    commands: &Receiver<Command>,
) -> Result<Recording, EngineError> {
    check(job)?;
    let addresses = system::resolve(&job.target.host, job.target.port)?;
    system::allow_files(u64::from(job.load.connections()))?;
    let address = reachable(job, &addresses)?;
    let run = match choose_transport(job.transport)? {
        Chosen::Epoll => start_on::<Epoll>(job, address)?,
        Chosen::IoUring => start_on::<Uring>(job, address)?,
    };
    run.carry_on(job, on_event, commands)
}

enum Chosen {
    Epoll,
    IoUring,
}

fn choose_transport(choice: TransportChoice) -> Result<Chosen, EngineError> {
    match (choice, Uring::probe()) {
        (TransportChoice::Epoll, _) | (TransportChoice::Auto, Err(_)) => Ok(Chosen::Epoll),
        (TransportChoice::Auto | TransportChoice::IoUring, Ok(())) => Ok(Chosen::IoUring),
        (TransportChoice::IoUring, Err(error)) => Err(EngineError::NoIoUring(error)),
    }
}

fn check(job: &Job) -> Result<(), EngineError> {
    let refuse = |text: &str| Err(EngineError::Job(text.to_owned()));
    let (connections, in_flight) = match job.load {
        Load::Closed {
            connections,
            in_flight,
        }
        | Load::Open {
            connections,
            in_flight,
            ..
        } => (connections, in_flight),
        Load::Users {
            requests_per_user,
            max_users,
            ..
        } => (max_users, requests_per_user),
    };
    if connections == 0 || in_flight == 0 {
        return refuse("a load of no connections or no requests: give at least 1 of each");
    }
    if job.threads == 0 || job.threads > connections {
        return Err(EngineError::Job(format!(
            "{} threads for {connections} connections: each thread needs one of its own",
            job.threads
        )));
    }
    if job.phases.measurement_ns == 0 {
        return refuse("a measurement of no length: give a duration above 0");
    }
    if job.timeout_ns == 0 {
        return refuse("a timeout of 0 leaves no time for any reply");
    }
    Ok(())
}

/// The first address that accepts a connection, so that a service that is down is told at once, and not as a recording
/// full of errors.
fn reachable(job: &Job, addresses: &[SocketAddr]) -> Result<SocketAddr, EngineError> {
    let limit = Duration::from_nanos(job.timeout_ns).max(Duration::from_millis(100));
    let mut last = None;
    for address in addresses {
        match std::net::TcpStream::connect_timeout(address, limit) {
            Ok(_) => return Ok(*address),
            Err(error) => last = Some((address, error)),
        }
    }
    let (address, error) = last.expect("invariant: a resolved name has an address");
    Err(EngineError::Unreachable {
        address: address.to_string(),
        reason: error.to_string(),
    })
}

/// Workers under way.
struct Run {
    control: Arc<Control>,
    messages: Receiver<Message>,
    empties: Vec<Sender<Box<Part>>>,
    threads: Vec<JoinHandle<Result<(), EngineError>>>,
    transport: &'static str,
    address: SocketAddr,
}

/// Starts the workers on a transport, with what the job wants to stand between its bytes and its protocol.
fn start_on<T: Transport + 'static>(job: &Job, address: SocketAddr) -> Result<Run, EngineError> {
    match &job.target.tls {
        None => start_through::<Plain, T>(job, address, &()),
        Some(tls) => {
            let config = TlsConfig::new(tls, job.protocol).map_err(|error| EngineError::Tls(error.0))?;
            start_through::<TlsLayer, T>(job, address, &config)
        }
    }
}

fn start_through<L, T>(job: &Job, address: SocketAddr, layer: &L::Config) -> Result<Run, EngineError>
where
    L: Layer + 'static,
    T: Transport + 'static,
{
    match job.protocol {
        prony_load::Protocol::Http1 => start::<Http1, L, T>(job, address, layer),
        prony_load::Protocol::Http2 => start::<Http2, L, T>(job, address, layer),
        prony_load::Protocol::Grpc => start::<Grpc, L, T>(job, address, layer),
    }
}

fn start<P, L, T>(job: &Job, address: SocketAddr, layer: &L::Config) -> Result<Run, EngineError>
where
    P: Protocol + 'static,
    L: Layer + 'static,
    T: Transport + 'static,
{
    // Once here, so that a bad workload is told before a thread starts.
    PreparedWorkload::<P>::new(job)?;
    let control = Arc::new(Control::new());
    let (to_us, messages) = mpsc::channel();
    let mut run = Run {
        control,
        messages,
        empties: Vec::new(),
        threads: Vec::new(),
        transport: T::NAME,
        address,
    };
    for thread in 0..job.threads {
        let (to_worker, empties) = mpsc::channel();
        let lines = Lines {
            control: Arc::clone(&run.control),
            messages: to_us.clone(),
            empties,
        };
        let (job, layer) = (job.clone(), layer.clone());
        let work = move || work::<P, L, T>(&job, thread, address, layer, lines);
        let spawned = std::thread::Builder::new()
            .name(format!("load-{thread}"))
            .spawn(work);
        run.threads.push(spawned.map_err(|source| EngineError::System {
            what: "starting a thread",
            source,
        })?);
        run.empties.push(to_worker);
    }
    Ok(run)
}

/// What a thread does.
fn work<P: Protocol, L: Layer, T: Transport>(
    job: &Job,
    thread: u32,
    address: SocketAddr,
    layer: L::Config,
    lines: Lines,
) -> Result<(), EngineError> {
    if !job.cpus.is_empty() {
        system::pin(job.cpus[thread as usize % job.cpus.len()])?;
    }
    system::wake_exactly();
    let place = Place {
        thread,
        threads: job.threads,
    };
    let moving = |source| EngineError::System {
        what: "moving bytes",
        source,
    };
    let transport = T::new(address, place.share(job.load.connections())).map_err(moving)?;
    let spoken = Spoken {
        workload: PreparedWorkload::<P>::new(job)?,
        layer,
    };
    Worker::<P, L, T>::new(job, place, transport, spoken, lines)
        .run()
        .map_err(moving)
}

/// The intervals of a phase, merged over the threads.
#[derive(Default)]
struct Intervals {
    open: BTreeMap<(bool, u64), (u32, Interval, Histogram)>,
    measured: Vec<Interval>,
}

impl Run {
    /// Keeps the phases until all workers are done.
    fn carry_on(
        mut self,
        job: &Job,
        on_event: &mut dyn FnMut(Event),
        commands: &Receiver<Command>,
    ) -> Result<Recording, EngineError> {
        let result = self.keep(job, on_event, commands);
        if result.is_err() {
            self.control.abort.store(true, Ordering::Relaxed);
        }
        for thread in self.threads.drain(..) {
            match thread.join() {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return Err(error),
                Err(_) => return Err(EngineError::WorkerPanicked),
            }
        }
        result
    }

    fn keep(
        &self,
        job: &Job,
        on_event: &mut dyn FnMut(Event),
        commands: &Receiver<Command>,
    ) -> Result<Recording, EngineError> {
        let mut keeper = Keeper {
            job,
            run: self,
            on_event,
            ready: Vec::new(),
            began: BTreeMap::new(),
            part: Part::new(Shape::of(job)),
            intervals: Intervals::default(),
            ends: Vec::new(),
            wall_offset: wall_offset_ns(),
            clock_step_ns: None,
        };
        while keeper.ends.len() < self.threads.len() {
            match self.messages.recv_timeout(LOOK) {
                Ok(message) => keeper.take(message)?,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    let gone = self.threads.iter().filter(|thread| thread.is_finished()).count();
                    // What they said last is taken first.
                    while let Ok(message) = self.messages.try_recv() {
                        keeper.take(message)?;
                    }
                    // A worker that ended without a word has failed; its thread says why when it is joined.
                    if keeper.ends.len() < gone {
                        return Err(EngineError::WorkerPanicked);
                    }
                }
            }
            match commands.try_recv() {
                Ok(command) => keeper.obey(command)?,
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => {}
            }
            keeper.watch_clock();
        }
        let material = Material {
            part: keeper.part,
            intervals: keeper.intervals.measured,
            ends: keeper.ends,
            transport: self.transport,
            clock_step_ns: keeper.clock_step_ns,
        };
        Ok(recording(job, material))
    }
}

/// What the caller's thread knows while the workers work.
struct Keeper<'a> {
    job: &'a Job,
    run: &'a Run,
    on_event: &'a mut dyn FnMut(Event),
    /// Open connections of each worker that is ready.
    ready: Vec<u32>,
    /// Workers and open connections in each phase that began.
    began: BTreeMap<u8, (usize, u64)>,
    part: Part,
    intervals: Intervals,
    ends: Vec<End>,
    wall_offset: i64,
    clock_step_ns: Option<i64>,
}

impl Keeper<'_> {
    fn take(&mut self, message: Message) -> Result<(), EngineError> {
        match message {
            Message::Ready { open, error } => self.ready(open, error),
            Message::Began { phase, open } => {
                let (workers, established) = self.began.entry(phase as u8).or_default();
                *workers += 1;
                *established += u64::from(open);
                if *workers == self.run.threads.len() {
                    let established = *established;
                    (self.on_event)(Event::Phase { phase, established });
                }
                Ok(())
            }
            Message::Interval(interval) => {
                self.interval(*interval);
                Ok(())
            }
            Message::Done(end) => {
                self.ends.push(*end);
                Ok(())
            }
        }
    }

    fn ready(&mut self, open: u32, error: Option<String>) -> Result<(), EngineError> {
        self.ready.push(open);
        if self.ready.len() < self.run.threads.len() {
            return Ok(());
        }
        let is_users = matches!(self.job.load, Load::Users { .. });
        if !is_users && self.ready.iter().all(|&open| open == 0) {
            return Err(EngineError::Unreachable {
                address: self.run.address.to_string(),
                reason: error.unwrap_or_else(|| "no reason given".to_owned()),
            });
        }
        let start = now_ns() + AHEAD;
        let warm_up = match self.job.phases.warm_up {
            WarmUp::FixedNs(ns) => ns,
            WarmUp::UntilTold { limit_ns } => limit_ns,
        };
        self.plan_measurement(start.saturating_add(warm_up));
        self.run.control.start.store(start, Ordering::Relaxed);
        Ok(())
    }

    fn plan_measurement(&self, begin: u64) {
        let control = &self.run.control;
        control.stop.store(
            begin.saturating_add(self.job.phases.measurement_ns),
            Ordering::Relaxed,
        );
        control.measure.store(begin, Ordering::Relaxed);
    }

    fn obey(&mut self, command: Command) -> Result<(), EngineError> {
        let control = &self.run.control;
        let soon = now_ns() + AHEAD;
        let measuring = control.measure.load(Ordering::Relaxed) <= soon;
        match command {
            Command::Measure if !measuring => self.plan_measurement(soon),
            Command::Measure => {}
            Command::Stop if !measuring => return Err(EngineError::Stopped),
            Command::Stop => {
                if control.stop.load(Ordering::Relaxed) > soon {
                    control.stop.store(soon, Ordering::Relaxed);
                }
            }
        }
        Ok(())
    }

    fn interval(&mut self, interval: IntervalPart) {
        let IntervalPart {
            thread,
            phase,
            index,
            begin,
            end,
            mut part,
        } = interval;
        if phase != Phase::WarmUp {
            self.part.merge(&part);
        }
        if phase != Phase::Drain && end > begin {
            let key = (phase == Phase::Measurement, index);
            let threads = self.run.threads.len() as u32;
            if let Some(done) = self.intervals.add(key, threads, (begin, end), &part) {
                if phase == Phase::Measurement {
                    self.intervals.measured.push(done);
                }
                (self.on_event)(Event::Interval {
                    phase,
                    interval: done,
                });
            }
        }
        part.clear();
        // A worker that has ended needs no empty part.
        let _ = self.run.empties[thread as usize].send(part);
    }

    fn watch_clock(&mut self) {
        let offset = wall_offset_ns();
        let step = offset - self.wall_offset;
        self.wall_offset = offset;
        if step.abs() > CLOCK_STEP && self.clock_step_ns.is_none_or(|old| old.abs() < step.abs()) {
            self.clock_step_ns = Some(step);
        }
    }
}

impl Intervals {
    /// Adds one thread's part of an interval; gives the interval when it was the last one.
    fn add(&mut self, key: (bool, u64), threads: u32, bounds: (u64, u64), part: &Part) -> Option<Interval> {
        let (count, interval, histogram) = self.open.entry(key).or_insert_with(|| {
            let empty = Interval {
                start_s: bounds.0 as f64 / 1e9,
                length_s: (bounds.1 - bounds.0) as f64 / 1e9,
                completed: 0,
                valid: 0,
                errors: 0,
                response_time_ns_p50: None,
                response_time_ns_p99: None,
            };
            (0, empty, Histogram::new())
        });
        *count += 1;
        interval.completed += part.window.completed;
        interval.valid += part.window.valid;
        interval.errors += part.window.errors;
        for operation in &part.operations {
            operation.response.add_to(histogram);
        }
        if *count < threads {
            return None;
        }
        let (_, mut interval, histogram) = self.open.remove(&key)?;
        interval.response_time_ns_p50 = histogram.quantile(0.5);
        interval.response_time_ns_p99 = histogram.quantile(0.99);
        Some(interval)
    }
}
