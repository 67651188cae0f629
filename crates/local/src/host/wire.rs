//! The body of an invocation and the answer to it, as pure functions.
//!
//! The documents of a Cosmos DB trigger are encoded twice: `Data.<binding>` is a JSON string whose text
//! is a JSON string literal whose text is the array.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::macros::format_description;

use super::function::Function;
use super::invoke::InvocationFailure;
use super::newtonsoft::{Exception, write_page, written};

pub(super) const CONTENT_TYPE: &str = "application/json; charset=utf-8";
pub(super) const INVOCATION_ID: &str = "x-azure-functions-invocationid";
/// The header of an answer with the handler's description of its work, which the Functions host does not read.
pub(super) const DONE: &str = "x-custom-handler-done";
pub(super) const REQUEST_CHARGE: &str = "x-ms-request-charge";
pub(super) const HOST_VERSION: &str = "x-azure-functions-hostversion";
/// The version of this stand-in: that of the host from which `tests/recorded/` was recorded.
pub(super) const HOST_VERSION_VALUE: &str = "4.1037.0.0";
pub(super) const USER_AGENT: &str = "Azure-Functions-Host/4.1037.0.0";

/// One attempt of an invocation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attempt {
    /// The id of the invocation; a retry has the same one.
    pub invocation_id: String,
    /// The number of retries before; 0 for the first attempt.
    pub retry_count: i64,
    /// The failure of the attempt before.
    pub failure: Option<InvocationFailure>,
    /// The input of a call of `/admin/functions`.
    pub input: Option<String>,
}

/// The last and the next run of a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimerStatus {
    /// The run before this one.
    pub last: Option<OffsetDateTime>,
    /// The run after this one.
    pub next: Option<OffsetDateTime>,
    /// True if the host could not run it in time.
    pub is_past_due: bool,
}

/// Returns the trigger's text of documents of the change feed.
///
/// # Errors
/// If one of them makes the trigger throw. The real trigger then rereads the page for ever and does not
/// call the handler.
pub fn page(function: &Function, documents: &[Value]) -> Result<String, Exception> {
    write_page(documents, function.cosmos().is_none_or(|trigger| trigger.parses_dates))
}

/// Returns the body for a [`page`] of the change feed.
pub fn documents(function: &Function, page: &str, attempt: &Attempt) -> String {
    body(function, &written(&written(page)), attempt)
}

/// Returns the body for a run of a timer; `status` is `None` if the host keeps none.
pub fn timer(function: &Function, status: Option<&TimerStatus>, attempt: &Attempt) -> String {
    let known = status.map(|status| {
        let last = status.last.unwrap_or(DOTNET_MINIMUM);
        json!({
            "Last": local(last),
            "Next": local(status.next.unwrap_or(DOTNET_MINIMUM)),
            "LastUpdated": local(last),
        })
    });
    let data = json!({
        "Schedule": { "AdjustForDST": true },
        "ScheduleStatus": known,
        "IsPastDue": status.is_some_and(|status| status.is_past_due),
    });
    body(function, &data.to_string(), attempt)
}

/// The answer of the handler.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct InvocationAnswer {
    /// The returned log lines.
    pub logs: Vec<String>,
    /// The handler's description of its work; empty if there was none.
    pub done: Option<String>,
    /// The request units that it has cost, if the handler has told them.
    pub charge: Option<String>,
}

/// Reads the handler's answer as the host does.
///
/// # Errors
/// If the host would take the invocation for failed, or would wait for ever.
pub fn read_answer(
    status: u16,
    content_type: &str,
    body: &[u8],
) -> Result<InvocationAnswer, InvocationFailure> {
    if !(200..300).contains(&status) {
        return Err(InvocationFailure::Status(status));
    }
    let text = body.trim_ascii();
    if text.is_empty() || text == b"null" {
        return Err(InvocationFailure::Hang(status));
    }
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        return Err(InvocationFailure::ContentType(status, content_type.to_owned()));
    }
    let json: Value = serde_json::from_slice(body)
        .map_err(|error| InvocationFailure::Body(status, error.to_string()))?;
    let bad = |reason: &str| InvocationFailure::Body(status, reason.to_owned());
    let fields = json.as_object().ok_or_else(|| bad("it is not an object"))?;
    let field = |name: &str| {
        let known = fields.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        known.map(|(_, value)| value).filter(|value| !value.is_null())
    };
    if field("Outputs").is_some_and(|outputs| !outputs.is_object()) {
        return Err(bad("Outputs is not an object"));
    }
    let logs = field("Logs").map(|logs| logs.as_array().ok_or_else(|| bad("Logs is not a list")));
    let text = |line: &Value| line.as_str().map_or_else(|| line.to_string(), str::to_owned);
    let logs = logs.transpose()?.into_iter().flatten().map(text).collect();
    Ok(InvocationAnswer { logs, ..InvocationAnswer::default() })
}

/// .NET's `DateTime.MinValue`.
const DOTNET_MINIMUM: OffsetDateTime = time::macros::datetime!(0001-01-01 0:00 UTC);

fn body(function: &Function, data: &str, attempt: &Attempt) -> String {
    let mut metadata = json!({ "sys": {
        "MethodName": function.name,
        "UtcNow": dotnet(OffsetDateTime::now_utc()) + "Z",
        "RandGuid": uuid::Uuid::new_v4().to_string(),
    } });
    if let Some(policy) = &function.retry {
        let thrown = |failure| exception(&function.name, &attempt.invocation_id, failure);
        metadata["RetryContext"] = json!({
            "RetryCount": attempt.retry_count,
            "MaxRetryCount": policy.max_retry_count,
            "Exception": attempt.failure.as_ref().map(thrown),
            "Instance": null,
            "State": {},
        });
    }
    if let Some(input) = &attempt.input {
        metadata[&function.binding] = written(input).into();
    }
    format!("{{\"Data\":{{{}:{data}}},\"Metadata\":{metadata}}}", written(&function.binding))
}

/// Formats a time as .NET writes one of the local kind, on a host whose local time is UTC.
fn local(time: OffsetDateTime) -> String {
    dotnet(time) + "+00:00"
}

/// Formats a time in ticks of 100 ns; .NET omits trailing zeros.
fn dotnet(time: OffsetDateTime) -> String {
    let format =
        format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:7]");
    let text = time.format(format).unwrap_or_default();
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// .NET's `COR_E_EXCEPTION`.
const HRESULT: i64 = -2_146_233_088;

fn exception(function: &str, id: &str, failure: &InvocationFailure) -> Value {
    let (status, message) = if let InvocationFailure::Status(status) = failure {
        let reason = http::StatusCode::from_u16(*status).ok();
        let reason = reason.and_then(|status| status.canonical_reason()).unwrap_or_default();
        let message =
            format!("Response status code does not indicate success: {status} ({reason}).");
        (Some(status), message)
    } else {
        (None, failure.to_string())
    };
    json!({
        "InstanceId": id,
        "MethodName": format!("Host.Functions.{function}"),
        "Handled": false,
        "ClassName": "Microsoft.Azure.WebJobs.Host.FunctionInvocationException",
        "Message": format!("Exception while executing function: Functions.{function}"),
        "Data": null,
        "InnerException": {
            "HttpRequestError": 0,
            "StatusCode": status,
            "Message": message,
            "Data": {},
            "InnerException": null,
            "HelpLink": null,
            "Source": "System.Net.Http",
            "HResult": HRESULT,
            "StackTrace": format!("{HTTP_FRAME}\n{}", FRAMES[..5].join("\n")),
        },
        "HelpURL": null,
        "StackTraceString": FRAMES.join("\n"),
        "RemoteStackTraceString": null,
        "RemoteStackIndex": 0,
        "ExceptionMethod": null,
        "HResult": HRESULT,
        "Source": "System.Private.CoreLib",
        "WatsonBuckets": null,
    })
}

const HTTP_FRAME: &str = "   at System.Net.Http.HttpResponseMessage.EnsureSuccessStatusCode()";

/// The frames of a stack trace, in their usual form, length and number.
const FRAMES: [&str; 7] = ["   at Microsoft.Azure.WebJobs.Host.Executors.FunctionExecutor.\
     ExecuteWithLoggingAsync(IFunctionInstanceEx instance, ParameterHelper parameterHelper, ILogger \
     logger) in /src/azure-functions-host/src/WebJobs.Host/Executors/FunctionExecutor.cs:line 121";
    7];
