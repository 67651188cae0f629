//! Messages of the host about an app's files.

use axum::http::Method;
use serde_json::{Value, json};
use tributary_local::host::{ConfigError, CosmosTrigger, FunctionApp, FunctionTrigger, Settings};

use crate::support::{Folder, cosmos_function, host_json, http_function, settings};

fn load_files(files: &[(&str, Value)], settings: &Settings) -> Result<FunctionApp, ConfigError> {
    let folder = Folder::new();
    for (file, content) in files {
        folder.write(file, content);
    }
    FunctionApp::load(folder.path(), settings)
}

fn trigger(app: &FunctionApp) -> &CosmosTrigger {
    let mut triggers = app.functions().iter().filter_map(|function| match &function.trigger {
        FunctionTrigger::Cosmos(trigger) => Some(trigger),
        _ => None,
    });
    triggers.next().unwrap()
}

fn load(host: &Value, function: &Value) -> Result<FunctionApp, String> {
    let files = [("host.json", host.clone()), ("functions/Some/function.json", function.clone())];
    load_files(&files, &settings()).map_err(|error| error.to_string())
}

/// Changes a trigger's binding, or the whole file with a path such as `/retry/strategy`.
fn changed(mut json: Value, path: &str, value: Value) -> Value {
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/bindings/0/{path}") };
    let (parent, field) = path.rsplit_once('/').unwrap();
    let fields = json.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    if value.is_null() {
        fields.remove(field);
    } else {
        fields.insert(field.to_owned(), value);
    }
    json
}

/// A field with a value, of the function of a trigger, and the message about it.
const FAULTS: &str = r#"
cosmos | leaseContainerPrefix | null | bindings[0].leaseContainerPrefix is missing: two functions with one prefix steal each other's changes
cosmos | connection | null | bindings[0].connection is missing: it is the setting that names the account
cosmos | databaseName | "%Nowhere%" | bindings[0].databaseName names the setting Nowhere, which does not exist
cosmos | maxItemsPerInvocation | 0 | bindings[0].maxItemsPerInvocation must be a positive integer
cosmos | maxItemsPerInvocation | "9.5" | bindings[0].maxItemsPerInvocation must be an integer
cosmos | startFromTime | "2026-01-01T00:00:00Z" | bindings[0].startFromTime has no effect in this stand-in: leave it out
cosmos | startFromBeginning | "yes" | bindings[0].startFromBeginning must be true or false
cosmos | changeFeedMode | "AllVersionsAndDeletes" | bindings[0].changeFeedMode must be LatestVersion in this stand-in
cosmos | name | null | bindings[0].name is missing: the data of an invocation come under it
cosmos | /retry/strategy | "often" | retry.strategy must be exponentialBackoff or fixedDelay
cosmos | /retry/maxRetryCount | null | retry.maxRetryCount is missing: -1 tries for ever
cosmos | /retry/minimumInterval | "2s" | retry.minimumInterval must be a time span hh:mm:ss
cosmos | /retry/minimumInterval | "00:02:00" | retry.minimumInterval must not be longer than maximumInterval
http | authLevel | "user" | bindings[0].authLevel is "user": it must be anonymous, function or admin
http | route | "/api/feed" | bindings[0].route is "/api/feed": a route must not begin with / or ~
http | methods | "get" | bindings[0].methods must be a list
http | /bindings | [] | bindings must hold exactly one trigger, and there are 0
http | /bindings | [1] | bindings[0] must be an object
http | type | "queueTrigger" | bindings[0].type is "queueTrigger", which this stand-in does not have: it runs httpTrigger, cosmosDBTrigger and timerTrigger
timer | schedule | "00:05:00" | bindings[0].schedule is "00:05:00", a time span: only the Dedicated plan runs those, so write an NCRONTAB expression such as "0 */5 * * * *"
timer | schedule | "0 0 24 * * *" | bindings[0].schedule has "24" for the hours, which go from 0 to 23
"#;

#[test]
fn a_fault_names_file_and_field() {
    let http = http_function("api/feed", &["get"], "anonymous");
    let timer =
        json!({ "bindings": [{ "type": "timerTrigger", "direction": "in", "name": "timer" }] });
    let message = |function: &Value| load(&host_json(), function).unwrap_err();
    for row in FAULTS.trim().lines() {
        let [trigger, path, value, fault] = row.splitn(4, " | ").collect::<Vec<_>>()[..] else {
            panic!("{row}")
        };
        let function = match trigger {
            "cosmos" => cosmos_function(),
            "http" => http.clone(),
            _ => timer.clone(),
        };
        let function = changed(function, path, serde_json::from_str(value).unwrap());
        assert_eq!(message(&function), format!("functions/Some/function.json: {fault}"));
    }
    let alone = changed(http.clone(), "/bindings", json!([http["bindings"][0]]));
    let fault = "bindings[0].type is httpTrigger, which the host hands through only beside exactly one other binding, an `http` out";
    assert_eq!(message(&alone), format!("functions/Some/function.json: {fault}"));
}

/// A field of `host.json` with a value, and the message about it.
const HOST_FAULTS: &str = r#"
/version | "1.0" | version must be "2.0"
/customHandler | null | customHandler.description.defaultExecutablePath is missing: it names the handler
/customHandler/enableProxyingHttpRequest | null | customHandler.enableProxyingHttpRequest must be true: forwarding rebuilds requests and loses chunked bodies, so this stand-in only hands requests through
/functionTimeout | "soon" | functionTimeout must be a time span such as 00:10:00
/extensions/cosmosDB | {"serializerSettings":{"dateParseHandling":"DateTimeOffset"}} | extensions.cosmosDB.serializerSettings.dateParseHandling must be None or DateTime: this stand-in writes no other dates
/customHandler/description/defaultExecutablePath | "" | customHandler.description.defaultExecutablePath is missing: it names the handler
/customHandler/description/defaultExecutablePath | "./app" | customHandler.description.defaultExecutablePath must not begin with ./: Core Tools makes only a file of exactly that name executable
"#;

#[test]
fn a_fault_of_host_json_names_the_field() {
    for row in HOST_FAULTS.trim().lines() {
        let [path, value, fault] = row.splitn(3, " | ").collect::<Vec<_>>()[..] else {
            panic!("{row}")
        };
        let host = changed(host_json(), path, serde_json::from_str(value).unwrap());
        let error = load(&host, &cosmos_function()).unwrap_err();
        assert_eq!(error, format!("host.json: {fault}"));
    }
}

#[test]
fn all_faults_of_all_files_are_reported_at_once() {
    let files = [
        ("host.json", json!({})),
        ("functions/A/function.json", json!({ "bindings": [] })),
        ("functions/B/function.json", json!([])),
    ];
    let error = load_files(&files, &settings()).unwrap_err();
    assert_eq!(error.to_string().lines().count(), 3, "{error}");

    let folder = Folder::new();
    let error =
        |folder: &Folder| FunctionApp::load(folder.path(), &settings()).unwrap_err().to_string();
    assert!(error(&folder).starts_with("host.json: cannot be read"));
    folder.write("host.json", "{ not json");
    assert!(error(&folder).starts_with("host.json: is not valid JSON"));
}

#[test]
fn a_field_that_the_real_host_ignores_is_a_warning() {
    let mut function = changed(cosmos_function(), "leaseContainerPrefixx", json!("x"));
    function.as_object_mut().unwrap().remove("retry");
    let app = load(&host_json(), &function).unwrap();
    assert_eq!(
        app.warnings(),
        [
            "functions/Some/function.json: retry is missing: a batch that fails is logged, \
             checkpointed and so lost",
            "functions/Some/function.json: bindings[0].leaseContainerPrefixx is unknown: the host \
             ignores it in silence",
        ]
    );
    assert!(load(&host_json(), &cosmos_function()).unwrap().warnings().is_empty());
}

#[test]
fn two_functions_with_the_same_leases_are_refused() {
    let files = [
        ("host.json", host_json()),
        ("functions/One/function.json", cosmos_function()),
        ("functions/Two/function.json", cosmos_function()),
    ];
    let error = load_files(&files, &settings()).unwrap_err().to_string();
    assert!(error.contains("\"copies-\" is also that of One"), "{error}");
}

#[test]
fn settings_fill_in_expressions_and_override_host_json_and_disable_functions() {
    let settings: Settings = [
        ("CosmosDatabase", "blog"),
        ("AzureFunctionsJobHost__extensions__http__routePrefix", "v1"),
        ("AzureWebJobs.B.Disabled", "true"),
    ]
    .into_iter()
    .collect();
    // In the form of a staged folder; the other tests have that of a project.
    let files = [
        ("host.json", host_json()),
        ("A/function.json", cosmos_function()),
        ("B/function.json", http_function("b", &[], "anonymous")),
        ("C/function.json", changed(cosmos_function(), "/disabled", json!(true))),
        ("D/function.json", http_function("d", &[], "anonymous")),
    ];
    let app = load_files(&files, &settings).unwrap();
    let trigger = trigger(&app);
    assert_eq!(trigger.database, "blog");
    assert!(trigger.from_beginning);
    let names = app.functions().iter().map(|function| &*function.name);
    assert_eq!(names.collect::<Vec<_>>(), ["A", "D"]);
    assert!(app.route(&Method::GET, "/v1/d").is_some());
    assert_eq!(app.disabled(), ["B", "C"]);
}

#[test]
fn typed_fields_take_a_setting_and_read_a_number_or_a_boolean_in_quotes() {
    let mut function = cosmos_function();
    for (field, value) in [
        ("startFromBeginning", "%FromBeginning%"),
        ("feedPollDelay", "%Delay%"),
        ("leaseRenewInterval", "500"),
        ("/retry/maxRetryCount", "5"),
    ] {
        function = changed(function, field, json!(value));
    }
    let mut settings = settings();
    for (name, value) in [("FromBeginning", "False"), ("Delay", "")] {
        settings.set(name, value);
    }
    let files = [("host.json", host_json()), ("functions/Some/function.json", function)];
    let app = load_files(&files, &settings).unwrap();
    assert!(!trigger(&app).from_beginning);
}

#[test]
fn local_settings_are_strings_and_the_environment_wins() {
    let folder = Folder::new();
    folder.write("ok.json", json!({ "IsEncrypted": false, "Values": { "A": "1", "B": "2" } }));
    let environment = [("B", "9"), ("C", "3"), ("AzureFunctionsJobHost__x", "4")];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let settings = Settings::read(&folder.path().join("ok.json")).unwrap();
    let settings = settings.overridden_by(environment.into_iter());
    let all: Vec<_> = settings.iter().collect();
    assert_eq!(all, [("A", "1"), ("AzureFunctionsJobHost__x", "4"), ("B", "9")]);

    folder.write("number.json", json!({ "Values": { "Port": 1 } }));
    folder.write("secret.json", json!({ "IsEncrypted": true, "Values": {} }));
    folder.write("port.json", json!({ "Host": { "LocalHttpPort": 70_000 } }));
    for (file, fault) in [
        ("number.json", "Values.Port must be a string"),
        ("secret.json", "IsEncrypted is true"),
        ("port.json", "Host.LocalHttpPort must be a port"),
    ] {
        let error = Settings::read(&folder.path().join(file)).unwrap_err().to_string();
        assert!(error.contains(fault), "{error}");
    }
}
