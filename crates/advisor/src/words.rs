//! Numbers as text, for sentences and tables.

/// Returns a number without decimals, with commas.
pub(crate) fn whole(number: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rounded, not negative"
    )]
    let rounded = number.max(0.0).round() as usize;
    tributary_tools::figures::thousands(rounded)
}

/// Returns a number to three digits.
pub(crate) fn about(number: f64) -> String {
    if number < 1_000.0 {
        return whole(number);
    }
    let unit = 10_f64.powf(number.log10().floor() - 2.0);
    whole((number / unit).round() * unit)
}

/// Returns a share in percent.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        0.0 => "0 %".to_owned(),
        _ if percent < 0.095 => "under 0.1 %".to_owned(),
        _ if percent < 9.95 => format!("{percent:.1} %"),
        _ => format!("{percent:.0} %"),
    }
}

/// Returns `1 item`, `2 items`, `1,234 items`.
pub(crate) fn counted(n: f64, what: &str) -> String {
    let number = whole(n);
    let s = if number == "1" { "" } else { "s" };
    format!("{number} {what}{s}")
}
