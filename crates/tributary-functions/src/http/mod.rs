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
mod headers;
mod item_command;
mod list;
mod principal;
mod query;
mod raw_json;
mod reply;
mod signature;
mod work_queue;

pub(crate) use self::{
    admission::{Admission, admit},
    answered::{COSTS_ROUTE, CalledFunctions, answered, catch_panics},
    consistency::{Consistency, consistent},
    error::{ErrorForm, Problem},
    item_command::INVOCATION_ID,
    principal::SignedInBy,
    query::path_parameters,
};
pub use self::{
    admission::{AdmissionOptions, Footprint},
    body::JsonBody,
    conditions::Conditions,
    consistency::{CONSISTENCY_TOKEN, ConsistencyOptions},
    cpu_bound::{CpuBoundError, CpuBoundWork},
    error::{ApiError, ErrorBody, FieldError, Refusal, check_confirmed},
    form::{Form, FromForm, envelopes, from_form, list_filter},
    function::{AuthLevel, FunctionLine, HttpFunction, delete, get, post, put},
    item_command::{ItemCommand, KEY_USED, new_id},
    list::{Filter, List, OffsetPage, PageRequest, refused_cursor},
    principal::{Actor, Authentication, SignIn},
    query::{Params, QueryParameter, limit_of, moment_from, parameter_of},
    reply::{ItemResponse, StoredItems, created, found, item},
    signature::{
        AnswerShape, DescribedAnswer, DescribedHandler, HandlerArgument, RequestShape, Signature,
    },
    work_queue::WorkQueue,
};
