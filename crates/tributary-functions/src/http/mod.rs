//! The shared parts of all routes: the lines of the table, admission, the caller, bodies, items and lists,
//! conditions, errors, and the log line of each request.

mod admission;
mod answered;
mod body;
mod command;
mod conditions;
mod cpu_bound;
mod cursor;
mod error;
mod form;
mod function;
mod item_command;
mod list;
mod panics;
mod params;
mod principal;
mod query;
mod raw_json;
mod reply;
mod signature;
mod takes;
mod work_queue;

pub use admission::{Admission, AdmissionOptions, AdmissionTerms, Footprint, admit};
pub use answered::{FunctionNames, answered};
pub use body::JsonBody;
pub use command::{INVOCATION_ID, new_id};
pub use conditions::Conditions;
pub use cpu_bound::{CpuBoundError, CpuBoundWork};
pub use cursor::refused as refused_cursor;
pub use error::{ApiError, DomainProblem, FieldError, Problem, method_not_allowed, no_such_route};
pub use form::{Form, FromForm, from_form};
pub use function::{AuthLevel, HttpFunction, delete, get, post, put};
pub use item_command::{ItemCommand, KEY_USED};
pub use list::{Filter, List, PageRequest};
pub use panics::catch_panics;
pub use params::Params;
pub(crate) use params::path_parameters;
pub use principal::{Actor, Authentication};
pub use query::{QueryParameter, limit_of, moment_from, parameter_of, values_of};
pub use reply::{ItemResponse, StoredItems, created, found, item};
pub use signature::{AnswerShape, DescribedAnswer, DescribedHandler, Signature};
pub use takes::{HandlerArgument, RequestShape};
pub use work_queue::WorkQueue;
