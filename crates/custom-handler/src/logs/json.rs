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

/// Writes every event: errors and warnings to stderr, the others to stdout.
pub(super) struct Lines;

/// The fields of an event, or of a span, kept in its extensions.
#[derive(Default)]
struct Fields(BTreeMap<&'static str, Value>);

impl<S> Layer<S> for Lines
where
    S: Subscriber + for<'lookup> LookupSpan<'lookup>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        // Formatting runs foreign code, so it is done before the extensions are held.
        let mut fields = Fields::default();
        values.record(&mut fields);
        if let Some(span) = context.span(id)
            && let Some(known) = span.extensions_mut().get_mut::<Fields>()
        {
            known.0.extend(fields.0);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut own = Fields::default();
        event.record(&mut own);
        let message = own.0.remove("message").unwrap_or_default();
        // An inner span's field goes before an outer one's, and the event's own before both.
        let mut fields = BTreeMap::new();
        for span in context.event_scope(event).into_iter().flat_map(Scope::from_root) {
            if let Some(known) = span.extensions().get::<Fields>() {
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
    // It writes to a string, which takes everything.
    let _ = SystemTime.format_time(&mut Writer::new(&mut timestamp));
    let mut line = Vec::with_capacity(512);
    let mut serializer = serde_json::Serializer::new(&mut line);
    let mut object = serializer.serialize_map(None)?;
    object.serialize_entry("timestamp", &timestamp)?;
    object.serialize_entry("level", metadata.level().as_str())?;
    object.serialize_entry("message", message)?;
    object.serialize_entry("target", metadata.target())?;
    for (name, value) in fields.iter().filter(|(name, _)| !RESERVED.contains(name)) {
        object.serialize_entry(name, value)?;
    }
    object.end()?;
    Ok(line)
}

/// The host makes Information of what is on stdout; of what is on stderr a Warning when it has the
/// word in it, as `"level":"WARN"` has, and else an Error. So a line keeps its severity.
fn write(level: Level, line: &[u8]) {
    // There is nowhere to say that both are closed.
    let _ = if level <= Level::WARN {
        io::stderr().lock().write_all(line)
    } else {
        io::stdout().lock().write_all(line)
    };
}

/// A field with such a name would make the object have it twice.
const RESERVED: [&str; 4] = ["timestamp", "level", "message", "target"];

impl Fields {
    fn insert(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.insert(field.name(), value.into());
    }
}

impl Visit for Fields {
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

impl Fields {
    /// `Duration::as_millis` gives 128 bits; a number that JSON readers cannot take is text.
    fn whole(&mut self, field: &Field, value: impl TryInto<i64> + ToString + Copy) {
        match value.try_into() {
            Ok(number) => self.insert(field, number),
            Err(_) => self.insert(field, value.to_string()),
        }
    }
}
