//! The architecture of a binary.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// The architecture of a binary as in `uname -m`; `None` if it is not a known Linux binary.
pub(super) fn architecture(binary: &Path) -> Option<&'static str> {
    let mut head = [0; 20];
    File::open(binary).ok()?.read_exact(&mut head).ok()?;
    of(&head)
}

fn of(head: &[u8; 20]) -> Option<&'static str> {
    let machine = match (head.get(..4)?, head[5]) {
        (b"\x7fELF", 1) => u16::from_le_bytes([head[18], head[19]]),
        (b"\x7fELF", 2) => u16::from_be_bytes([head[18], head[19]]),
        _ => return None,
    };
    match machine {
        3 => Some("i686"),
        21 => Some("ppc64le"),
        22 => Some("s390x"),
        40 => Some("armv7l"),
        62 => Some("x86_64"),
        183 => Some("aarch64"),
        243 => Some("riscv64"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_is_for_these_cpus() {
        let own = std::env::current_exe().expect("a path");
        assert_eq!(architecture(&own), Some(std::env::consts::ARCH));
    }

    #[test]
    fn a_script_is_for_none() {
        let mut head = [0; 20];
        head[..11].copy_from_slice(b"#!/bin/sh\n\n");
        assert_eq!(of(&head), None);
        head[..6].copy_from_slice(b"\x7fELF\x02\x01");
        head[18..].copy_from_slice(&[183, 0]);
        assert_eq!(of(&head), Some("aarch64"));
    }
}
