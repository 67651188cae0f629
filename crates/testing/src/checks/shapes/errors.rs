//! The lines of level ERROR that this thread writes.

use std::{
    fmt::{Debug, Write},
    mem,
    sync::{Arc, Mutex},
};

use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber::{DefaultGuard, set_default},
};

type Lines = Arc<Mutex<Vec<String>>>;

/// The lines of this thread since the value was created. It takes the place of the thread's own log.
pub(super) struct ErrorLines {
    lines: Lines,
    _guard: DefaultGuard,
}

impl ErrorLines {
    pub(super) fn of_this_thread() -> Self {
        let lines = Lines::default();
        Self { _guard: set_default(Collector(Arc::clone(&lines))), lines }
    }

    pub(super) fn taken(&self) -> Vec<String> {
        mem::take(&mut *self.lines.lock().unwrap())
    }
}

struct Collector(Lines);

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() == Level::ERROR
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to a text cannot fail.
        let _ = write!(self.0, "{}={value:?} ", field.name());
    }
}
