//! A generator with one connection, sufficient to test how a trial communicates with its generator.

use prony_load::{Job, WarmUp};
use prony_records::{
    Command, CompactHistogram, Connections, Coverage, Event, Generator, Histogram, Interval, Outcome,
    Outcomes, Phase, Recording, Requests, SCHEMA,
};
use std::io::{BufRead as _, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::time::{Duration, Instant};

struct Load {
    job: Job,
    commands: Receiver<Command>,
    connection: Option<TcpStream>,
    request: Vec<u8>,
    outcomes: Outcomes,
    intervals: Vec<Interval>,
}

pub(crate) fn load() {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).expect("a job");
    let job: Job = serde_json::from_str(&line).expect("a job");
    let (sender, commands) = mpsc::channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            let _ = sender.send(serde_json::from_str(&line).expect("a command"));
        }
        let _ = sender.send(Command::Stop);
    });
    let mut path = Vec::new();
    job.workload.operations[0]
        .request
        .path
        .render(&mut path, |_, _| {});
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\n\r\n",
        String::from_utf8_lossy(&path),
        job.target.authority
    );
    let mut load = Load {
        job,
        commands,
        connection: None,
        request: request.into_bytes(),
        outcomes: Outcomes::default(),
        intervals: Vec::new(),
    };
    load.run();
}

fn say(event: &Event) {
    println!("{}", serde_json::to_string(event).expect("plain data"));
}

impl Load {
    fn run(&mut self) {
        let warm_up = match self.job.phases.warm_up {
            WarmUp::FixedNs(ns) => ns,
            WarmUp::UntilTold { limit_ns } => limit_ns,
        };
        if warm_up > 0 {
            say(&Event::Phase {
                phase: Phase::WarmUp,
                established: 1,
            });
            self.phase(Phase::WarmUp, Duration::from_nanos(warm_up));
        }
        self.outcomes = Outcomes::default();
        self.intervals.clear();
        say(&Event::Phase {
            phase: Phase::Measurement,
            established: 1,
        });
        let began = Instant::now();
        self.phase(
            Phase::Measurement,
            Duration::from_nanos(self.job.phases.measurement_ns),
        );
        let took = began.elapsed();
        say(&Event::Phase {
            phase: Phase::Drain,
            established: 1,
        });
        say(&Event::Recording {
            recording: Box::new(self.recording(took)),
        });
    }

    fn phase(&mut self, phase: Phase, time: Duration) {
        let length = Duration::from_nanos(self.job.interval_ns);
        let began = Instant::now();
        let mut number = 0_u32;
        while began.elapsed() < time {
            let before = self.outcomes;
            let end = length * (number + 1);
            while began.elapsed() < end {
                let outcome = self.exchange();
                self.outcomes.add(outcome, 1);
                match self.commands.try_recv() {
                    Ok(Command::Measure) if phase == Phase::WarmUp => return,
                    Ok(Command::Stop) if phase == Phase::Measurement => return,
                    Ok(Command::Stop) | Err(TryRecvError::Disconnected) => std::process::exit(0),
                    _ => {}
                }
            }
            let valid = self.outcomes.valid - before.valid;
            let mut failures = Outcomes::default();
            for outcome in Outcome::ALL
                .into_iter()
                .filter(|&outcome| outcome != Outcome::Valid)
            {
                failures.add(outcome, self.outcomes.of(outcome) - before.of(outcome));
            }
            let interval = Interval {
                start_s: (length * number).as_secs_f64(),
                length_s: length.as_secs_f64(),
                completed: valid,
                valid,
                errors: failures.errors(),
                messages: None,
                response_time_ns_p50: Some(100_000),
                response_time_ns_p99: Some(200_000),
            };
            self.intervals.push(interval);
            say(&Event::Interval {
                phase,
                interval,
                times: CompactHistogram::default(),
                failures: Box::new(failures),
            });
            number += 1;
        }
    }

    fn exchange(&mut self) -> Outcome {
        if self.connection.is_none() {
            let stream = TcpStream::connect((self.job.target.host.as_str(), self.job.target.port));
            let Ok(stream) = stream else {
                std::thread::sleep(Duration::from_millis(1));
                return Outcome::ConnectError;
            };
            stream.set_nodelay(true).expect("set");
            stream
                .set_read_timeout(Some(Duration::from_secs(2)))
                .expect("set");
            self.connection = Some(stream);
        }
        let stream = self.connection.as_mut().expect("just made");
        let mut buffer = [0; 4_096];
        let answered = stream
            .write_all(&self.request)
            .and_then(|()| stream.read(&mut buffer));
        let Ok(length @ 1..) = answered else {
            self.connection = None;
            return Outcome::Reset;
        };
        match (
            buffer.starts_with(b"HTTP/1.1 200"),
            buffer[..length].ends_with(b"Hello, World!"),
        ) {
            (true, true) => Outcome::Valid,
            (true, false) => Outcome::Unexpected,
            (false, _) => Outcome::Status,
        }
    }

    fn recording(&self, took: Duration) -> Recording {
        let count = self.outcomes.total();
        let mut recording = Recording {
            schema: SCHEMA,
            target: self.job.target.url.clone(),
            protocol: "http1".to_owned(),
            load: serde_json::to_value(&self.job.load).expect("plain data"),
            duration_s: took.as_secs_f64(),
            requests: Requests {
                offered: count,
                sent: count,
                completed: count,
                valid: self.outcomes.valid,
            },
            throughput_per_s: count as f64 / took.as_secs_f64(),
            goodput_per_s: self.outcomes.valid as f64 / took.as_secs_f64(),
            outcomes: self.outcomes,
            offered_per_s: Some(count as f64 / took.as_secs_f64()),
            sent_per_s: Some(count as f64 / took.as_secs_f64()),
            coverage: Coverage::EveryRequest,
            connections: Connections {
                asked: 1,
                established: 1,
                ..Connections::default()
            },
            generator: Generator {
                threads: 1,
                transport: "toy".to_owned(),
                ..Generator::default()
            },
            intervals: self.intervals.clone(),
            histogram: Histogram::new().encode(),
            ..Recording::default()
        };
        recording.warnings.extend(recording.failure(None));
        recording
    }
}
