#![doc = include_str!("../README.md")]

mod builder;
mod serve;

mod dispatch;
mod early;
mod invoke;

mod invocation;
mod trigger;

mod arguments;
mod outcome;
mod trace;

pub mod logs;

pub use arguments::{Document, Documents, InvocationId, TimerInfo};
pub use builder::{CustomHandler, ROUTE_PREFIX, RegistrationError, is_function_name};
pub use invocation::{FromInvocation, Invocation, InvocationError};
pub use invoke::MAX_BODY_BYTES;
pub use outcome::{IntoOutcome, InvocationOutcome};
pub use serve::{PORT_VARIABLE, SHUTDOWN_GRACE, ServeError, Shutdown};
pub use trace::TraceContext;
pub use trigger::{OutcomeFuture, TriggerHandler};
