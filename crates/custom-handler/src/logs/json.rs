//! Log lines as JSON objects, flat, so that a query reaches every field by its name.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write as _};

use serde::Serializer as _;
use serde::ser::SerializeMap as _;
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime as _, SystemTime};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::{LookupSpan, Scope};

/// The layer that writes every event: errors and warnings to stderr, the others to stdout.
pub(super) struct JsonLines;

#[derive(Default)]
struct EventFields(BTreeMap<&'static str, Value>);

impl<S> Layer<S> for JsonLines
where
    S: Subscriber + for<'lookup> LookupSpan<'lookup>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = EventFields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        // Formatting runs foreign code, so it comes before the lock of the extensions.
        let mut fields = EventFields::default();
        values.record(&mut fields);
        if let Some(span) = context.span(id)
            && let Some(known) = span.extensions_mut().get_mut::<EventFields>()
        {
            known.0.extend(fields.0);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut own = EventFields::default();
        event.record(&mut own);
        let message = own.0.remove("message").unwrap_or_default();
        // An inner span's field overrides an outer one's, and the event's own field overrides both.
        let mut fields = BTreeMap::new();
        for span in context.event_scope(event).into_iter().flat_map(Scope::from_root) {
            if let Some(known) = span.extensions().get::<EventFields>() {
                fields.extend(known.0.clone());
            }
        }
        fields.extend(own.0);
        if let Ok(mut line) = line(event, &message, &fields) {
            line.push(b'\n');
            write(*event.metadata().level(), &line);
        }
    }
}

fn line(
    event: &Event<'_>,
    message: &Value,
    fields: &BTreeMap<&'static str, Value>,
) -> serde_json::Result<Vec<u8>> {
    let metadata = event.metadata();
    let mut timestamp = String::new();
    // Writing to a string cannot fail.
    let _ = SystemTime.format_time(&mut Writer::new(&mut timestamp));
    let mut line = Vec::with_capacity(512);
    let mut serializer = serde_json::Serializer::new(&mut line);
    let mut object = serializer.serialize_map(None)?;
    object.serialize_entry("timestamp", &timestamp)?;
    object.serialize_entry("level", metadata.level().as_str())?;
    object.serialize_entry("message", message)?;
    object.serialize_entry("target", metadata.target())?;
    for (name, value) in fields.iter().filter(|(name, _)| !RESERVED_FIELDS.contains(name)) {
        object.serialize_entry(name, value)?;
    }
    object.end()?;
    Ok(line)
}

/// Writes a line to the stream that keeps its severity: the host logs stdout as Information, and stderr as a
/// Warning when the line has that word, such as in `"level":"WARN"`, and otherwise as an Error.
fn write(level: Level, line: &[u8]) {
    // If both are closed, no stream is left for the error.
    let _ = if level <= Level::WARN {
        io::stderr().lock().write_all(line)
    } else {
        io::stdout().lock().write_all(line)
    };
}

/// The names of a line's own fields. A field of an event with such a name would repeat it in the object.
const RESERVED_FIELDS: [&str; 4] = ["timestamp", "level", "message", "target"];

impl EventFields {
    fn insert(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.insert(field.name(), value.into());
    }
}

impl Visit for EventFields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.insert(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.insert(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.insert(field, value);
    }

    fn record_i128(&mut self, field: &Field, value: i128) {
        self.whole(field, value);
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        self.whole(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.insert(field, value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.insert(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.insert(field, format!("{value:?}"));
    }
}

impl EventFields {
    /// Inserts a whole number of up to 128 bits, such as `Duration::as_millis`: as text where JSON readers cannot
    /// read it as a number.
    fn whole(&mut self, field: &Field, value: impl TryInto<i64> + ToString + Copy) {
        match value.try_into() {
            Ok(number) => self.insert(field, number),
            Err(_) => self.insert(field, value.to_string()),
        }
    }
}
