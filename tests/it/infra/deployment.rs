//! The first deployment: the refusals and needs of Azure, as it was seen in the sources of the
//! platform and its tools (`docs/deploy.md` has the messages).

use serde_json::Value;

use super::{
    bicep::{Bicep, bicep_files},
    text,
};

/// The text of each resource of a type, with its name, in the order of the file.
fn resources(file: &str, kind: &str) -> Vec<(String, String)> {
    let bicep = Bicep::read(file);
    let mut declarations = bicep.declarations("resource_declaration");
    declarations.retain(|node| {
        let kind = format!("'{kind}@");
        bicep.text_of(bicep.only(*node, "string")).starts_with(&kind)
    });
    let named = declarations.into_iter();
    named.map(|node| (bicep.name(node).to_owned(), bicep.text_of(node).to_owned())).collect()
}

#[test]
fn the_files_have_what_azure_and_the_emulator_need() {
    const APP: &str = "infra/modules/function-app.bicep";
    const STORE: &str = "infra/modules/cosmos.bicep";
    const TEMPLATE: &str = "crates/cargo-tributary/template/infra/main.bicep";
    const ALERTS: &str = "infra/modules/metric-alerts.bicep";
    for (file, needed) in [
        (APP, "{ name: 'AzureWebJobsDisableHomepage', value: 'true' }"),
        // Well above the largest body of the API, 4 MiB: the host's own refusal is a 500.
        (APP, "{ name: 'FUNCTIONS_REQUEST_BODY_SIZE_LIMIT', value: '8388608' }"),
        // One list of sites, here and in Host.CORS.
        (APP, "loadJsonContent('../../local.settings.json.example', 'Host.CORS')"),
        (APP, "cors: { allowedOrigins: empty(sites) ? [] : split(sites, ',') }"),
        (TEMPLATE, "loadJsonContent('../local.settings.json.example', 'Host.CORS')"),
        ("local.settings.json.example", "\"Host\": { \"CORS\": \""),
        // Azure stores a package as this identity, which is not the app's.
        (APP, "userAssignedIdentityResourceId: deploymentIdentityId"),
        (TEMPLATE, "userAssignedIdentityResourceId: deploymentIdentity.id"),
        // With zones, instances are kept ready.
        ("infra/main.bicep", "hasAlwaysReady: zoneRedundant || !empty(alwaysReady)"),
        // A reviewer asks where ftpsState is.
        (APP, "//checkov:skip=CKV_AZURE_78:"),
        // Commands decide by the latest state, and a second region may lag.
        (STORE, "locations: [{ locationName: location, failoverPriority: 0, isZoneRedundant"),
        // A metric alert is made before the first metric.
        (ALERTS, "skipMetricValidation: true"),
        // Executions are counted on both kinds of instances.
        (ALERTS, "metric: 'OnDemandFunctionExecutionCount'"),
        (ALERTS, "metric: 'AlwaysReadyFunctionExecutionCount'"),
        // .NET refuses plain HTTP.
        ("compose.yaml", "PROTOCOL: https"),
        (".github/workflows/deploy.yml", "az provider register --namespace Microsoft.App --wait"),
        // No deployment without a private network registers its provider.
        (
            "azure.yaml",
            "        if [ \"${TRIBUTARY_PRIVATE_NETWORKING:-}\" = true ]; then\n          az provider",
        ),
    ] {
        assert!(text(file).contains(needed), "{file} lacks {needed}");
    }
}

/// The host's role may write every blob, so a condition takes out those that the host would run.
#[test]
fn no_role_lets_the_app_write_its_packages() {
    const BLOBS: &str = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs";
    let other_action = ["write", "add/action", "delete", "move/action"]
        .map(|action| format!("!(ActionMatches{{'{BLOBS}/{action}'}})"))
        .join(" AND ");
    let container = "@Resource[Microsoft.Storage/storageAccounts/blobServices/containers:name]";
    for (file, app, packages) in [
        ("infra/modules/roles.bicep", "appPrincipalId", "${packagesName}"),
        (
            "crates/cargo-tributary/template/infra/main.bicep",
            "identity.properties.principalId",
            "packages",
        ),
    ] {
        let mut roles = resources(file, "Microsoft.Authorization/roleAssignments");
        roles.retain(|(_, text)| {
            let is_of_app = text.contains(&format!("principalId: {app}\n"));
            is_of_app && !text.contains("scope: applicationInsights\n")
        });
        let [(_, role)] = roles.as_slice() else { panic!("{file}: {roles:?}") };
        let other_container = format!("{container} StringNotEquals '{packages}'");
        let condition = format!("condition: '(({other_action}) OR ({other_container}))'");
        assert!(role.replace("\\'", "'").contains(&condition), "{file}: {role}");
    }
}

#[test]
fn no_setting_is_one_that_flex_consumption_refuses() {
    for file in bicep_files() {
        assert!(!text(&file).contains("ftpsState:"), "{file}: West Europe refuses it");
    }
}

#[test]
fn the_account_gets_one_change_at_a_time() {
    let kind = "Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments";
    let assignments = resources("infra/modules/roles.bicep", kind);
    assert_eq!(assignments.len(), 2);
    for pair in assignments.windows(2) {
        let waits = format!("dependsOn: [{}]", pair[0].0);
        assert!(pair[1].1.contains(&waits), "{} beside {}", pair[1].0, pair[0].0);
    }
    let main = Bicep::read("infra/main.bicep");
    let modules = main.declarations("module_declaration");
    let network = modules.into_iter().find(|node| main.name(*node) == "network").unwrap();
    assert!(main.text_of(network).contains("dependsOn: [roles]"), "endpoints beside assignments");
}

#[test]
fn the_host_has_no_log_level_that_floods_core_tools() {
    let host: Value = serde_json::from_str(&text("host.json")).unwrap();
    assert_eq!(host["logging"].get("logLevel"), None, "Information is the default in Azure");
    let excluded = &host["logging"]["applicationInsights"]["samplingSettings"]["excludedTypes"];
    let excluded = excluded.as_str().unwrap();
    assert!(excluded.split(';').any(|kind| kind == "Trace"), "alerts count every line");
}
