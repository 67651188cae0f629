//! Log lines as JSON objects, flat, so that a query reaches every field by its name.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write as _};

use serde::Serialize;
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime as _, SystemTime};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::{LookupSpan, Scope};

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
        // A field with the name of one of the line's own would repeat it in the object.
        fields.retain(|name, _| !["timestamp", "level", "message", "target"].contains(name));
        let mut timestamp = String::new();
        // Writing to a string cannot fail.
        let _ = SystemTime.format_time(&mut Writer::new(&mut timestamp));
        let metadata = event.metadata();
        let (level, target) = (*metadata.level(), metadata.target());
        let line = Line { timestamp, level: level.as_str(), message, target, fields };
        if let Ok(mut line) = serde_json::to_vec(&line) {
            line.push(b'\n');
            write(level, &line);
        }
    }
}

#[derive(Serialize)]
struct Line<'a> {
    timestamp: String,
    level: &'static str,
    message: Value,
    target: &'a str,
    #[serde(flatten)]
    fields: BTreeMap<&'static str, Value>,
}

/// The host logs stdout as Information, and stderr as a Warning if the line has that word, otherwise as an Error.
fn write(level: Level, line: &[u8]) {
    // If both are closed, no stream is left for the error.
    let _ = if level <= Level::WARN {
        io::stderr().lock().write_all(line)
    } else {
        io::stdout().lock().write_all(line)
    };
}

impl EventFields {
    fn insert(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.insert(field.name(), value.into());
    }

    /// Inserts a whole number of up to 128 bits, as text where JSON readers cannot read it as a number.
    fn whole(&mut self, field: &Field, value: impl TryInto<i64> + ToString + Copy) {
        match value.try_into() {
            Ok(number) => self.insert(field, number),
            Err(_) => self.insert(field, value.to_string()),
        }
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
