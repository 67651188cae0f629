//! What the command `projections` writes.

use std::{
    io::{self, Write},
    time::Duration,
};

use super::{
    ProjectionView, ReleasedLease,
    table::{leases_table, projections_table},
};
use crate::{
    http::ApiError,
    terminal::{OutputFormat, json_lines},
};

pub(super) const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);

pub(super) fn print(views: &[ProjectionView], format: OutputFormat) -> Result<(), String> {
    let text = match format {
        OutputFormat::Json => json_lines(views),
        OutputFormat::Plain => projections_table(views, false),
        OutputFormat::Colours => projections_table(views, true),
    };
    write(&text)
}

/// Writes a projection and its leases to standard output; as JSON, they are a part of it.
pub(super) fn print_status(view: ProjectionView, format: OutputFormat) -> Result<(), String> {
    let leases = leases_table(view.leases.as_deref().unwrap_or_default());
    print(&[view], format)?;
    if format == OutputFormat::Json { Ok(()) } else { write(&leases) }
}

pub(super) fn print_released(released: ReleasedLease, format: OutputFormat) -> Result<(), String> {
    let owner = released.former_owner.as_deref().unwrap_or("none");
    let text = format!("Lease {} is released. Its owner was: {owner}.\n", released.lease);
    write(&if format == OutputFormat::Json { json_lines(&[released]) } else { text })
}

pub(super) fn write(text: &str) -> Result<(), String> {
    let mut out = io::stdout();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(closed)
}

#[expect(clippy::needless_pass_by_value, reason = "it maps errors")]
pub(super) fn sentence(error: ApiError) -> String {
    error.status_and_detail().1
}

#[expect(clippy::needless_pass_by_value, reason = "it maps errors")]
pub(super) fn closed(error: io::Error) -> String {
    format!("the result cannot be written: {error}")
}
