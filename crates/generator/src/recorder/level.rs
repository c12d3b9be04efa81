//! Integrates a count over the time of a window.

/// A count that rises and falls. Its integral over time is exact however often it changes: a rise subtracts the time
/// elapsed so far, and a fall adds it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Level {
    count: u64,
    begin: u64,
    /// Modulo 2^64: it may temporarily be negative.
    sum: u64,
    closed: bool,
}

impl Level {
    pub(super) const fn begin(&mut self, begin: u64) {
        self.begin = begin;
        self.sum = 0;
        self.closed = false;
    }

    pub(super) const fn close(&mut self, now: u64) {
        let whole = now.saturating_sub(self.begin);
        self.sum = self.sum.wrapping_add(self.count.wrapping_mul(whole));
        self.closed = true;
    }

    /// Increments the count.
    pub(crate) const fn rise(&mut self, now: u64) {
        self.count += 1;
        if !self.closed {
            self.sum = self.sum.wrapping_sub(now.saturating_sub(self.begin));
        }
    }

    /// Decrements the count.
    pub(crate) const fn fall(&mut self, now: u64) {
        self.count = self.count.saturating_sub(1);
        if !self.closed {
            self.sum = self.sum.wrapping_add(now.saturating_sub(self.begin));
        }
    }

    /// The count integrated over the window, ns, once the window is closed.
    pub(crate) const fn sum(&self) -> u64 {
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_summed_over_the_window() {
        let mut level = Level::default();
        level.rise(50);
        level.begin(100);
        level.rise(130);
        level.fall(150);
        level.rise(180);
        level.close(200);
        // 100 from the first, 20 from the second, 20 from the third.
        assert_eq!(level.sum(), 140);
        level.fall(250);
        assert_eq!(level.sum(), 140);
        level.begin(300);
        level.close(310);
        assert_eq!(level.sum(), 10, "the one that is left");
    }
}
