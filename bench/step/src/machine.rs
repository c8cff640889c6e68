//! When and where a figure was measured.

use std::process::Command;
use std::time::SystemTime;

const DAY: u64 = 24 * 60 * 60;

/// Today, as 2026-11-15, in UTC.
pub(crate) fn date() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (year, month, day) = civil(since / DAY);
    format!("{year}-{month:02}-{day:02}")
}

/// Year, month and day of a number of days since 1970-01-01.
fn civil(mut days: u64) -> (u64, usize, u64) {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    (year, month + 1, days + 1)
}

/// The processor's name, where the system says it.
pub(crate) fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    name.map_or_else(|| "an unnamed processor".to_owned(), |(_, name)| name.to_owned())
}

/// The compiler's version, where it is on this machine.
pub(crate) fn rust() -> String {
    let output =
        Command::new("rustc").arg("--version").output().map(|output| output.stdout).unwrap_or_default();
    let words: Vec<String> = String::from_utf8_lossy(&output).split_whitespace().map(str::to_owned).collect();
    words.get(1).map_or_else(|| "Rust of another machine".to_owned(), |version| format!("Rust {version}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        // 1972 was the first leap year: 730 days of two years, 31 of January, 28 more.
        assert_eq!(civil(730 + 31 + 28), (1972, 2, 29));
        assert_eq!(civil(20_772), (2026, 11, 15));
    }
}
