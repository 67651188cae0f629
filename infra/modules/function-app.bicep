// The function app on Flex Consumption, with every setting that the host and the handler read.
param name string
param planName string
param location string
param tags object
param zoneRedundant bool
param identityId string
param identityClientId string
param deploymentIdentityId string
param blobEndpoint string
param packageContainerUrl string
param applicationInsightsConnectionString string
param cosmosEndpoint string
param databaseName string

@description('Subnet that the app reaches private endpoints from; empty without private networking.')
param subnetId string

param instanceMemoryMB int
param maximumInstanceCount int
param alwaysReady array
param disabledFunctions array
param auditRepair bool
param renameRequestUnitsPerSecond int
param newsPartitionStrategy string
param newsHighVolumeProviders array
param newsMigrateAfterDays int
param newsArchiveAfterYears int
param authenticationMode string
param authenticationClientId string
param otlpEndpoint string

// FUNCTIONS_WORKER_RUNTIME is not among them: on this plan it comes from `runtime` below.
var hostSettings = [
  { name: 'AzureWebJobsStorage__blobServiceUri', value: blobEndpoint }
  { name: 'AzureWebJobsStorage__credential', value: 'managedidentity' }
  { name: 'AzureWebJobsStorage__clientId', value: identityClientId }
  { name: 'APPLICATIONINSIGHTS_CONNECTION_STRING', value: applicationInsightsConnectionString }
  { name: 'APPLICATIONINSIGHTS_AUTHENTICATION_STRING', value: 'ClientId=${identityClientId};Authorization=AAD' }
  // Without it `/` answers every caller with a page of 150 KB.
  { name: 'AzureWebJobsDisableHomepage', value: 'true' }
  // The host keeps whole bodies in memory, of 100 MB by default. Twice the largest of the API: a larger one is a
  // 500 of the host instead of the app's 413.
  { name: 'FUNCTIONS_REQUEST_BODY_SIZE_LIMIT', value: '8388608' }
]
// The triggers of the host and the handler read the same connection.
var handlerSettings = [
  { name: 'CosmosConnection__accountEndpoint', value: cosmosEndpoint }
  { name: 'CosmosConnection__credential', value: 'managedidentity' }
  { name: 'CosmosConnection__clientId', value: identityClientId }
  { name: 'CosmosDatabase', value: databaseName }
  // The SDK would ask the metadata service of virtual machines for its identity, and wait for the answer.
  { name: 'COSMOS_DISABLE_IMDS', value: 'true' }
  { name: 'Authentication__Mode', value: authenticationMode }
  { name: 'Audit__Repair', value: auditRepair ? 'true' : 'false' }
  { name: 'Rename__RequestUnitsPerSecond', value: string(renameRequestUnitsPerSecond) }
  { name: 'News__PartitionStrategy', value: newsPartitionStrategy }
  { name: 'News__HighVolumeProviders', value: join(newsHighVolumeProviders, ',') }
  { name: 'News__MigrateAfterDays', value: string(newsMigrateAfterDays) }
  { name: 'News__ArchiveAfterYears', value: string(newsArchiveAfterYears) }
]
var telemetrySettings = empty(otlpEndpoint) ? [] : [{ name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: otlpEndpoint }]
var switchedOff = [for function in disabledFunctions: {
  name: 'AzureWebJobs.${function}.Disabled'
  value: 'true'
}]

// The sites whose pages may call the app: those of Host.CORS, for which the platform answers OPTIONS.
var sites = loadJsonContent('../../local.settings.json.example', 'Host.CORS')

resource plan 'Microsoft.Web/serverfarms@2025-03-01' = {
  //checkov:skip=CKV_AZURE_225:Zone redundancy is the parameter zoneRedundant; not every region has the capacity
  name: planName
  location: location
  tags: tags
  kind: 'functionapp'
  sku: {
    name: 'FC1'
    tier: 'FlexConsumption'
  }
  properties: {
    reserved: true
    zoneRedundant: zoneRedundant
  }
}

resource app 'Microsoft.Web/sites@2025-03-01' = {
  //checkov:skip=CKV_AZURE_78:Flex Consumption has no FTP, and refuses ftpsState in some regions, West Europe among them
  //checkov:skip=CKV_AZURE_17:Callers are browsers and other clients without certificates; keys and Entra ID admit the writers
  //checkov:skip=CKV_AZURE_212:Flex Consumption has no minimum here; warm instances are the parameter alwaysReady
  //checkov:skip=CKV_AZURE_213:Flex Consumption has no health check path; the platform watches its instances itself
  //checkov:skip=CKV_AZURE_222:The app is a public HTTP API
  name: name
  location: location
  // azd deploys the service `api` of azure.yaml to the app with this tag.
  tags: union(tags, { 'azd-service-name': 'api' })
  kind: 'functionapp,linux'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${identityId}': {}
      '${deploymentIdentityId}': {}
    }
  }
  properties: {
    serverFarmId: plan.id
    httpsOnly: true
    clientAffinityEnabled: false
    publicNetworkAccess: 'Enabled'
    virtualNetworkSubnetId: empty(subnetId) ? null : subnetId
    functionAppConfig: {
      runtime: {
        name: 'custom'
        version: '1.0'
      }
      deployment: {
        storage: {
          type: 'blobContainer'
          value: packageContainerUrl
          authentication: {
            type: 'UserAssignedIdentity'
            userAssignedIdentityResourceId: deploymentIdentityId
          }
        }
      }
      scaleAndConcurrency: {
        instanceMemoryMB: instanceMemoryMB
        maximumInstanceCount: maximumInstanceCount
        alwaysReady: alwaysReady
      }
    }
    siteConfig: {
      minTlsVersion: '1.2'
      scmMinTlsVersion: '1.2'
      http20Enabled: true
      remoteDebuggingEnabled: false
      cors: { allowedOrigins: empty(sites) ? [] : split(sites, ',') }
      appSettings: concat(hostSettings, handlerSettings, telemetrySettings, switchedOff)
    }
  }

  // Deployments sign in with Entra ID, never with a publishing password.
  resource ftpPasswords 'basicPublishingCredentialsPolicies' = {
    name: 'ftp'
    properties: { allow: false }
  }

  resource scmPasswords 'basicPublishingCredentialsPolicies' = {
    name: 'scm'
    properties: { allow: false }
  }
}

module authentication 'authentication.bicep' = if (authenticationMode == 'easyauth') {
  name: 'authentication'
  params: {
    appName: app.name
    clientId: authenticationClientId
  }
}

output id string = app.id
output name string = app.name
output url string = 'https://${app.properties.defaultHostName}'
