#![doc = include_str!("../README.md")]

mod builder;
mod serve;

mod dispatch;
mod early;
mod http;
mod invoke;
mod registration;

mod body;
mod invocation;
mod trigger;

mod documents;
mod metadata;
mod outcome;
mod timer;
mod trace;

pub mod logs;
mod panics;

pub use body::MAX_BODY_BYTES;
pub use builder::CustomHandler;
pub use documents::{Document, Documents};
pub use early::answer_after_body;
pub use invocation::{FromInvocation, Invocation, InvocationError};
pub use metadata::{InvocationId, RetryContext, SystemMetadata};
pub use outcome::{IntoOutcome, InvocationOutcome};
pub use registration::{ROUTE_PREFIX, RegistrationError};
pub use serve::{PORT_VARIABLE, SHUTDOWN_GRACE, ServeError, Shutdown};
pub use timer::{ScheduleStatus, TimerInfo};
pub use trace::TraceContext;
pub use trigger::{OutcomeFuture, TriggerHandler};
