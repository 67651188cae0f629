//! The shared parts of all routes: the lines of the table, admission, the caller, bodies, items and lists,
//! conditions, sessions, errors, and the log line of each request.

mod admission;
mod answered;
mod body;
mod conditions;
mod consistency;
mod consistency_token;
mod cpu_bound;
mod error;
mod form;
mod function;
mod item_command;
mod list;
mod principal;
mod query;
mod raw_json;
mod reply;
mod signature;
mod work_queue;

pub(crate) use admission::{Admission, admit};
pub use admission::{AdmissionOptions, Footprint};
pub(crate) use answered::{COSTS_ROUTE, FunctionNames, answered, catch_panics};
pub use body::JsonBody;
pub use conditions::Conditions;
pub use consistency::{CONSISTENCY_TOKEN, ConsistencyOptions};
pub(crate) use consistency::{Consistency, consistent};
pub use cpu_bound::{CpuBoundError, CpuBoundWork};
pub use error::{ApiError, DomainProblem, FieldError, Problem};
pub(crate) use error::{method_not_allowed, no_such_route};
pub use form::{Form, FromForm, from_form};
pub use function::{AuthLevel, FunctionLine, HttpFunction, delete, get, post, put};
pub use item_command::{INVOCATION_ID, ItemCommand, KEY_USED, new_id};
pub use list::{Filter, List, PageRequest, refused_cursor};
pub use principal::{Actor, Authentication};
pub(crate) use query::path_parameters;
pub use query::{Params, QueryParameter, limit_of, moment_from, parameter_of};
pub use reply::{ItemResponse, StoredItems, created, found, item};
pub use signature::{
    AnswerShape, DescribedAnswer, DescribedHandler, HandlerArgument, RequestShape, Signature,
};
pub use work_queue::WorkQueue;
