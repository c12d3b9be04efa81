//! Workers whose clocks jump in the middle of a load. A test cannot set the clocks of this machine; instead, a preloaded
//! library shifts the clock readings of prony.

use crate::common::until;
use crate::skip::skipped;
use crate::testbed::{Toy, prony, with_pipes};
use std::fs;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::process::Command;
use std::time::Duration;

/// The library reads from a file how far each clock is ahead of the kernel's, ns: first the wall clock, then the monotonic one.
const LIBRARY: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *ahead;

__attribute__((constructor)) static void begin(void) {
    int file = open(getenv("CLOCKS_AHEAD"), O_RDONLY);
    void *found = mmap(NULL, 2 * sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
    if (found == MAP_FAILED) abort();
    ahead = found;
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    long result = syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && ahead && (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC)) {
        int64_t ns = time->tv_nsec + ahead[clock];
        time->tv_sec += ns / 1000000000;
        time->tv_nsec = ns % 1000000000;
    }
    return (int)result;
}
"#;

/// The wall clock jumps by an hour, as if it was set manually.
const WALL: Duration = Duration::from_hours(1);
/// The monotonic clock jumps by 50 ms, as after a pause of a virtual machine: many times the uncertainty of the clock offsets.
const MONOTONIC: Duration = Duration::from_millis(50);

#[test]
fn clocks_that_jump_during_a_load_are_told() {
    let checkout = with_pipes(1, &["right"]);
    checkout.write("clock.c", LIBRARY);
    let (library, ahead) = (checkout.path("clock.so"), checkout.path("ahead"));
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .args([&library, &checkout.path("clock.c")])
        .output();
    match compiled {
        Ok(output) => assert!(output.status.success(), "{output:?}"),
        Err(error) => return skipped(&format!("no C compiler runs here: {error}")),
    }
    fs::write(&ahead, [0; 16]).expect("written");
    let program = checkout.path("prony");
    let script = format!(
        "#!/bin/sh\nLD_PRELOAD={} CLOCKS_AHEAD={} exec {} \"$@\"\n",
        library.display(),
        ahead.display(),
        env!("CARGO_BIN_EXE_prony")
    );
    fs::write(&program, script).expect("written");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("allowed");
    let testbed = fs::read_to_string(checkout.path("testbed.toml")).expect("the testbed");
    let jumping = format!("pipe = true\nprogram = {:?}", program.display().to_string());
    let (app, workers) = testbed.split_once("[host.one]").expect("a worker");
    let workers = workers.replace("pipe = true", &jumping);
    checkout.write("testbed.toml", &format!("{app}[host.one]{workers}"));
    let mut toy = Toy::start(&checkout, "logs");
    let jump = || {
        // The first request shows that the workers are running; the clock of `one`, which is queried first, is known by then.
        until("the load is on", || {
            fs::metadata(checkout.path("toy.log")).is_ok_and(|log| log.len() > 0)
        });
        let ns = |ahead: Duration| i64::try_from(ahead.as_nanos()).expect("small").to_le_bytes();
        let file = fs::OpenOptions::new().write(true).open(&ahead).expect("there");
        file.write_all_at(&[ns(WALL), ns(MONOTONIC)].concat(), 0)
            .expect("written");
    };
    let arguments = [
        "load",
        &toy.url,
        "--testbed",
        "testbed.toml",
        "-c",
        "4",
        "--warmup",
        "500ms",
        "-d",
        "2s",
        "--json",
    ];
    let ended = std::thread::scope(|scope| {
        scope.spawn(jump);
        prony(&checkout, &arguments)
    });
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let recording = ended.json();
    let warnings = recording["warnings"].as_array().expect("warnings");
    let told: Vec<&str> = warnings
        .iter()
        .filter(|warning| warning["kind"] == "clock_step")
        .filter_map(|warning| warning["text"].as_str())
        .collect();
    for part in ["The system clock was set by 3", "Clock of one drifted by "] {
        assert!(told.iter().any(|text| text.contains(part)), "{part}: {recording}");
    }
    toy.end();
}
