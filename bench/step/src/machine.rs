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

/// The processor's name, its generation where that is known, and its vectors, where the system says them: on a virtual machine the
/// name alone is often no more than the maker's.
pub(crate) fn processor() -> String {
    named(&std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default())
}

/// The same from the text of `/proc/cpuinfo`.
fn named(text: &str) -> String {
    let value = |key: &str| {
        let of_line = |line: &str| {
            let (found, value) = line.split_once(':')?;
            (found.trim() == key).then(|| value.trim().to_owned())
        };
        text.lines().find_map(of_line)
    };
    let Some(name) = value("model name") else { return "an unnamed processor".to_owned() };
    let number = |key| value(key)?.parse::<u32>().ok();
    let maker = value("vendor_id").unwrap_or_default();
    let generation = match (number("cpu family"), number("model")) {
        (Some(family), Some(model)) => match zen(&maker, family, model) {
            Some(generation) => format!(", {generation}"),
            None => format!(", family {family}, model {model}"),
        },
        _ => String::new(),
    };
    let vectors = value("flags").map_or_else(String::new, |flags| format!(", {}", vectors(&flags)));
    name + &generation + &vectors
}

/// The generation of AMD's processors; the ranges are those of Linux.
fn zen(maker: &str, family: u32, model: u32) -> Option<&'static str> {
    match (maker, family, model) {
        ("AuthenticAMD", 0x17, 0x00..=0x2f | 0x50..=0x5f) => Some("Zen"),
        ("AuthenticAMD", 0x17, 0x30..=0x4f | 0x60..=0x7f | 0x90..=0x91 | 0xa0..=0xaf) => Some("Zen 2"),
        ("AuthenticAMD", 0x19, 0x00..=0x0f | 0x20..=0x5f) => Some("Zen 3"),
        ("AuthenticAMD", 0x19, 0x10..=0x1f | 0x60..=0xaf) => Some("Zen 4"),
        ("AuthenticAMD", 0x1a, 0x00..=0x2f | 0x40..=0x4f | 0x60..=0x7f) => Some("Zen 5"),
        _ => None,
    }
}

/// The widest vectors that a processor's flags name.
fn vectors(flags: &str) -> &'static str {
    let has = |flag: &str| flags.split_whitespace().any(|has| has == flag);
    if has("avx512f") {
        "AVX-512"
    } else if has("avx2") && has("fma") {
        "AVX2"
    } else {
        "without AVX2"
    }
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

    fn cpuinfo(maker: &str, family: u32, model: u32, flags: &str) -> String {
        format!(
            "processor\t: 0\nvendor_id\t: {maker}\ncpu family\t: {family}\nmodel\t\t: {model}\nmodel name\t: AMD EPYC\nflags\t\t: {flags}\n"
        )
    }

    #[test]
    fn a_processor_is_named_with_its_generation_and_its_vectors() {
        let amd = |family, model, flags| named(&cpuinfo("AuthenticAMD", family, model, flags));
        assert_eq!(amd(25, 1, "sse2 fma avx2"), "AMD EPYC, Zen 3, AVX2");
        assert_eq!(amd(25, 17, "fma avx2 avx512f"), "AMD EPYC, Zen 4, AVX-512");
        assert_eq!(amd(26, 2, "fma avx2 avx512f"), "AMD EPYC, Zen 5, AVX-512");
        assert_eq!(amd(99, 3, "sse2"), "AMD EPYC, family 99, model 3, without AVX2");
        assert_eq!(named(&cpuinfo("GenuineIntel", 25, 1, "fma avx2")), "AMD EPYC, family 25, model 1, AVX2");
        assert_eq!(named(""), "an unnamed processor");
    }

    #[test]
    fn days_become_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        // 1972 was the first leap year: 730 days of two years, 31 of January, 28 more.
        assert_eq!(civil(730 + 31 + 28), (1972, 2, 29));
        assert_eq!(civil(20_772), (2026, 11, 15));
    }
}
