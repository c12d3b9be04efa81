//! Parses lists of CPUs.

/// CPUs in the notation of the kernel: `0,2-3`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CpuList(pub(crate) Vec<usize>);

impl std::str::FromStr for CpuList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a list of CPUs: write it as 0,2-3");
        let mut cpus = Vec::new();
        for part in text.split(',') {
            let (low, high) = part.split_once('-').unwrap_or((part, part));
            let low: usize = low.trim().parse().map_err(|_| wrong())?;
            let high: usize = high.trim().parse().map_err(|_| wrong())?;
            if low > high || high >= 1024 {
                return Err(wrong());
            }
            cpus.extend(low..=high);
        }
        Ok(Self(cpus))
    }
}
