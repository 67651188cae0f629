//! Numbers as text, for sentences and tables.

pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative")]
pub(crate) fn count(number: f64) -> u64 {
    number.max(0.0).round() as u64
}

pub(crate) fn size(number: f64) -> usize {
    usize::try_from(count(number)).unwrap_or(usize::MAX)
}

pub(crate) fn whole(number: f64) -> String {
    thousands(count(number))
}

pub(crate) fn about(number: f64) -> String {
    if number < 1_000.0 {
        return whole(number);
    }
    let unit = 10_f64.powf(number.log10().floor() - 2.0);
    whole((number / unit).round() * unit)
}

pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        0.0 => "0 %".to_owned(),
        _ if percent < 0.095 => "under 0.1 %".to_owned(),
        _ if percent < 9.95 => format!("{percent:.1} %"),
        _ => format!("{percent:.0} %"),
    }
}

pub(crate) fn counted(n: f64, what: &str) -> String {
    let number = whole(n);
    let s = if number == "1" { "" } else { "s" };
    format!("{number} {what}{s}")
}

pub(crate) fn bytes(number: f64) -> String {
    const UNITS: [(f64, &str); 3] = [(1e9, "GB"), (1e6, "MB"), (1e3, "KB")];
    let unit = UNITS.into_iter().find(|(size, _)| number >= *size);
    unit.map_or(format!("{number:.0} B"), |(size, unit)| format!("{:.1} {unit}", number / size))
}

#[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^53")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

pub(crate) fn time_text(seconds: i64) -> Option<String> {
    let time = time::OffsetDateTime::from_unix_timestamp(seconds).ok()?;
    time.format(&time::format_description::well_known::Rfc3339).ok()
}
