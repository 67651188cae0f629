//! The exception of a failed attempt, as the host sends it with the retry.
//!
//! Its two stack traces add some 3.5 KB to the body. Frames and line numbers here have the usual form
//! and length, not those of a certain version.

use serde_json::{Value, json};

use super::failure::InvocationFailure;

/// .NET's `COR_E_EXCEPTION`.
const HRESULT: i64 = -2_146_233_088;

/// Returns the exception of an attempt of the function's invocation `id` that ended with `failure`.
pub(super) fn exception(function: &str, id: &str, failure: &InvocationFailure) -> Value {
    let status = match failure {
        InvocationFailure::Status(status) => Some(*status),
        _ => None,
    };
    let message = match status {
        None => failure.to_string(),
        Some(status) => {
            let reason = http::StatusCode::from_u16(status).ok();
            let reason = reason.and_then(|status| status.canonical_reason()).unwrap_or_default();
            format!("Response status code does not indicate success: {status} ({reason}).")
        }
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
            "StackTrace": stack(&HTTP_FRAMES, "Script/Workers/Http/DefaultHttpWorkerService.cs"),
        },
        "HelpURL": null,
        "StackTraceString": stack(&EXECUTOR_FRAMES, "Host/Executors/FunctionExecutor.cs"),
        "RemoteStackTraceString": null,
        "RemoteStackIndex": 0,
        "ExceptionMethod": null,
        "HResult": HRESULT,
        "Source": "System.Private.CoreLib",
        "WatsonBuckets": null,
    })
}

const HTTP_FRAMES: [&str; 6] = [
    "System.Net.Http.HttpResponseMessage.EnsureSuccessStatusCode()",
    "Microsoft.Azure.WebJobs.Script.Workers.Http.DefaultHttpWorkerService.\
     ProcessDefaultInvocationRequest(ScriptInvocationContext scriptInvocationContext)",
    "Microsoft.Azure.WebJobs.Script.Description.WorkerFunctionInvoker.\
     InvokeCore(Object[] parameters, FunctionInvocationContext context)",
    "Microsoft.Azure.WebJobs.Script.Description.FunctionInvokerBase.Invoke(Object[] parameters)",
    "Microsoft.Azure.WebJobs.Script.Description.FunctionGenerator.Coerce[T](Task`1 src)",
    "Microsoft.Azure.WebJobs.Host.Executors.FunctionInvoker`2.\
     InvokeAsync(Object instance, Object[] arguments)",
];

const EXECUTOR_FRAMES: [&str; 6] = [
    "Microsoft.Azure.WebJobs.Host.Executors.FunctionExecutor.InvokeWithTimeoutAsync(IFunctionInvoker \
     invoker, ParameterHelper parameterHelper, CancellationTokenSource timeoutTokenSource, \
     CancellationTokenSource functionCancellationTokenSource, Boolean throwOnTimeout)",
    "Microsoft.Azure.WebJobs.Host.Executors.FunctionExecutor.ExecuteWithWatchersAsync(\
     IFunctionInstanceEx instance, ParameterHelper parameterHelper, ILogger logger)",
    "Microsoft.Azure.WebJobs.Host.Executors.FunctionExecutor.ExecuteWithLoggingAsync(\
     IFunctionInstanceEx instance, FunctionStartedMessage message, ILogger logger)",
    "Microsoft.Azure.WebJobs.Host.Executors.FunctionExecutor.ExecuteWithLoggingAsync(\
     IFunctionInstanceEx instance, ParameterHelper parameterHelper, ILogger logger)",
    "Microsoft.Azure.WebJobs.Host.Executors.FunctionExecutor.TryExecuteAsync(\
     IFunctionInstance functionInstance, CancellationToken cancellationToken)",
    "Microsoft.Azure.WebJobs.Host.Executors.FunctionExecutorExtensions.TryExecuteWithRetriesAsync(\
     IFunctionInstance instance, ILogger logger)",
];

fn stack(frames: &[&str], file: &str) -> String {
    let frame = |(index, frame): (usize, &&str)| {
        let line = 121 * (index + 1);
        format!("   at {frame} in /src/azure-functions-host/src/WebJobs.{file}:line {line}")
    };
    frames.iter().enumerate().map(frame).collect::<Vec<_>>().join("\n")
}
