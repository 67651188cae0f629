// The whole system in one resource group: azd provision, or az deployment sub create.
//
// The scope is the subscription, since then both tools make the resource group too, and azd finds
// it by its tag and can take it down again. docs/infrastructure.md draws what is here and explains
// each parameter.
targetScope = 'subscription'

@description('Name of the environment; the names of the resources are derived from it.')
@minLength(1)
@maxLength(40)
param environmentName string

@description('Region of all resources. It must offer Flex Consumption: az functionapp list-flexconsumption-locations.')
param location string = deployment().location

@description('Name of the resource group. Empty: rg- and the name of the environment.')
@maxLength(90)
param resourceGroupName string = ''

@description('Object id of a developer or operator with the right to read and write the data, for example by tributary audit. Empty: only the app.')
param principalId string = ''

@description('Tags for every resource, besides azd-env-name.')
param tags object = {}

@description('Name of the database.')
@minLength(1)
param databaseName string = 'tributary'

@description('How you pay for the store: serverless (by request) or autoscale (by the hour, for each container). Decide before the first deployment.')
@allowed(['serverless', 'autoscale'])
param capacityMode string = 'serverless'

@description('Highest request units a second of each container with autoscale; you pay for at least a tenth of it.')
@minValue(1000)
param autoscaleMaxThroughput int = 1000

@description('Other highest request units a second for single containers with autoscale, by the id of the container: { posts: 4000 }.')
param containerMaxThroughput object = {}

@description('Highest request units a second of feeds_current, the hot container of the news, with autoscale.')
@minValue(1000)
param feedsCurrentMaxThroughput int = 4000

@description('The same of feeds_historical, the warm container of the news.')
@minValue(1000)
param feedsHistoricalMaxThroughput int = 1000

@description('The same of feeds_archive, which is read by id only.')
@minValue(1000)
param feedsArchiveMaxThroughput int = 1000

@description('The same of feeds_locations: each post of an item reads it, and each new item writes it.')
@minValue(1000)
param feedsLocationsMaxThroughput int = 2000

@description('Spread the store, the storage account and the app over availability zones. The app then keeps two instances ready for each group of functions, and bills them. Not every region has the capacity.')
param zoneRedundant bool = false

@description('How far back the store can be restored to any moment: 7 days are free, 30 days are not.')
@allowed(['Continuous7Days', 'Continuous30Days'])
param backupRetention string = 'Continuous7Days'

@description('Memory of an instance of the app, in MB; the processor grows with it.')
@allowed([512, 2048, 4096])
param instanceMemoryMB int = 2048

@description('Most instances that each group of functions scales out to: all HTTP functions are one group, each other function is its own. Together they bound the cost.')
@minValue(40)
@maxValue(1000)
param maximumInstanceCount int = 40

@description('Instances that are kept warm: [{ name: \'http\', instanceCount: 1 }] for all HTTP functions, \'function:HomeFeed\' for one other.')
param alwaysReady array = []

@description('Names of functions that are switched off, for example [\'AuditBlog\'].')
param disabledFunctions array = []

@description('Let the weekly audit repair what it finds. Off: it only reports.')
param auditRepair bool = false

@description('Request units a second that the renames of one instance of the app may spend. 0: no limit.')
@minValue(0)
param renameRequestUnitsPerSecond int = 400

@description('How feed items are spread over logical partitions. hybrid: months for the providers of newsHighVolumeProviders, quarters for the others. monthly: months that all providers share.')
@allowed(['hybrid', 'monthly'])
param newsPartitionStrategy string = 'hybrid'

@description('Ids of the feed providers of high volume.')
param newsHighVolumeProviders array = []

@description('Age in days at which a feed item goes from feeds_current to feeds_historical.')
@minValue(1)
@maxValue(3650)
param newsMigrateAfterDays int = 30

@description('Years after its end at which a partition goes from feeds_historical to feeds_archive.')
@minValue(1)
@maxValue(100)
param newsArchiveAfterYears int = 2

@description('Callers that may send commands. none: all holders of a function key. easyauth: those that are also signed in with Entra ID as the user named in the command.')
@allowed(['none', 'easyauth'])
param authenticationMode string = 'none'

@description('Client id of the Entra app registration whose tokens easyauth accepts. Needed with easyauth.')
param authenticationClientId string = ''

@description('Address of an OpenTelemetry collector (OTLP over HTTP). Empty: no export.')
param otlpEndpoint string = ''

@description('Reach the store and the storage account through private endpoints only. The HTTP API stays public.')
param privateNetworking bool = false

@description('Address range of the virtual network. Choose another where it is to be peered.')
param vnetAddressPrefix string = '10.42.0.0/24'

@description('Range of the subnet of the app, /27 or larger.')
param appSubnetAddressPrefix string = '10.42.0.0/25'

@description('Range of the subnet of the private endpoints.')
param endpointSubnetAddressPrefix string = '10.42.0.128/27'

@description('Days that logs are kept; the first 31 are in the price of ingestion.')
@minValue(30)
@maxValue(730)
param logRetentionDays int = 30

@description('Most gigabytes of logs a day; above it nothing is stored and no log alert fires until the next day. -1: no limit.')
@minValue(-1)
param logDailyCapGb int = -1

@description('Log every single request to the store (CDBDataPlaneRequests). Costly: switch it on for an investigation only.')
param logDataPlaneRequests bool = false

@description('Create the alert rules.')
param alertsEnabled bool = true

@description('E-mail address that alerts go to. Empty: they only show in the portal.')
param alertEmail string = ''

@description('Executions an hour above which the alert app-executions fires, and with alwaysReady or zoneRedundant also app-executions-always-ready: set it to what you are ready to pay for.')
@minValue(1)
param executionsPerHourAlert int = 1000000

var token = toLower(uniqueString(subscription().id, environmentName, location))
var newsMaxThroughput = {
  feeds_current: feedsCurrentMaxThroughput
  feeds_historical: feedsHistoricalMaxThroughput
  feeds_archive: feedsArchiveMaxThroughput
  feeds_locations: feedsLocationsMaxThroughput
}
var allTags = union(tags, { 'azd-env-name': environmentName })

resource group 'Microsoft.Resources/resourceGroups@2025-04-01' = {
  name: empty(resourceGroupName) ? 'rg-${environmentName}' : resourceGroupName
  location: location
  tags: allTags
}

module identity 'modules/identity.bicep' = {
  name: 'identity'
  scope: group
  params: {
    name: 'id-${token}'
    location: location
    tags: allTags
  }
}

// Azure stores each package as this identity, and reads it.
module deploymentIdentity 'modules/identity.bicep' = {
  name: 'deployment-identity'
  scope: group
  params: {
    name: 'id-deployment-${token}'
    location: location
    tags: allTags
  }
}

module monitoring 'modules/monitoring.bicep' = {
  name: 'monitoring'
  scope: group
  params: {
    workspaceName: 'log-${token}'
    applicationInsightsName: 'appi-${token}'
    location: location
    tags: allTags
    retentionDays: logRetentionDays
    dailyCapGb: logDailyCapGb
  }
}

module storage 'modules/storage.bicep' = {
  name: 'storage'
  scope: group
  params: {
    name: 'st${token}'
    location: location
    tags: allTags
    zoneRedundant: zoneRedundant
    publicNetworkAccess: !privateNetworking
  }
}

module cosmos 'modules/cosmos.bicep' = {
  name: 'cosmos'
  scope: group
  params: {
    accountName: 'cosmos-${token}'
    databaseName: databaseName
    location: location
    tags: allTags
    capacityMode: capacityMode
    autoscaleMaxThroughput: autoscaleMaxThroughput
    containerMaxThroughput: union(newsMaxThroughput, containerMaxThroughput)
    zoneRedundant: zoneRedundant
    backupRetention: backupRetention
    publicNetworkAccess: !privateNetworking
    workspaceId: monitoring.outputs.workspaceId
    logDataPlaneRequests: logDataPlaneRequests
  }
}

module roles 'modules/roles.bicep' = {
  name: 'roles'
  scope: group
  params: {
    appPrincipalId: identity.outputs.principalId
    deploymentPrincipalId: deploymentIdentity.outputs.principalId
    developerPrincipalId: principalId
    storageName: storage.outputs.name
    packagesName: storage.outputs.packagesName
    applicationInsightsName: monitoring.outputs.applicationInsightsName
    cosmosAccountName: cosmos.outputs.accountName
  }
}

module network 'modules/network.bicep' = if (privateNetworking) {
  name: 'network'
  scope: group
  params: {
    token: token
    location: location
    tags: allTags
    vnetAddressPrefix: vnetAddressPrefix
    appSubnetAddressPrefix: appSubnetAddressPrefix
    endpointSubnetAddressPrefix: endpointSubnetAddressPrefix
    cosmosAccountId: cosmos.outputs.accountId
    storageId: storage.outputs.id
  }
  // A private endpoint changes the account, too, and the account takes one change at a time.
  dependsOn: [roles]
}

module functionApp 'modules/function-app.bicep' = {
  name: 'function-app'
  scope: group
  params: {
    name: 'func-${token}'
    planName: 'plan-${token}'
    location: location
    tags: allTags
    zoneRedundant: zoneRedundant
    identityId: identity.outputs.id
    identityClientId: identity.outputs.clientId
    deploymentIdentityId: deploymentIdentity.outputs.id
    blobEndpoint: storage.outputs.blobEndpoint
    packageContainerUrl: storage.outputs.packageContainerUrl
    applicationInsightsConnectionString: monitoring.outputs.connectionString
    cosmosEndpoint: cosmos.outputs.endpoint
    databaseName: databaseName
    subnetId: privateNetworking ? network!.outputs.appSubnetId : ''
    instanceMemoryMB: instanceMemoryMB
    maximumInstanceCount: maximumInstanceCount
    alwaysReady: alwaysReady
    disabledFunctions: disabledFunctions
    auditRepair: auditRepair
    renameRequestUnitsPerSecond: renameRequestUnitsPerSecond
    newsPartitionStrategy: newsPartitionStrategy
    newsHighVolumeProviders: newsHighVolumeProviders
    newsMigrateAfterDays: newsMigrateAfterDays
    newsArchiveAfterYears: newsArchiveAfterYears
    authenticationMode: authenticationMode
    authenticationClientId: authenticationClientId
    otlpEndpoint: otlpEndpoint
  }
  // Without its roles the app cannot read its package, its locks and its leases, and would start
  // into errors that end by themselves only minutes later.
  dependsOn: [roles]
}

module alerts 'modules/alerts.bicep' = if (alertsEnabled) {
  name: 'alerts'
  scope: group
  params: {
    token: token
    location: location
    tags: allTags
    email: alertEmail
    cosmosAccountId: cosmos.outputs.accountId
    functionAppId: functionApp.outputs.id
    workspaceId: monitoring.outputs.workspaceId
    autoscale: capacityMode == 'autoscale'
    maximumInstanceCount: maximumInstanceCount
    // With zones, Azure keeps instances ready by itself.
    hasAlwaysReady: zoneRedundant || !empty(alwaysReady)
    executionsPerHour: executionsPerHourAlert
  }
}

@description('The resource group; azd and func take it.')
output AZURE_RESOURCE_GROUP string = group.name

@description('The function app: func azure functionapp publish takes this name.')
output AZURE_FUNCTION_NAME string = functionApp.outputs.name

@description('Where the API answers.')
output AZURE_FUNCTION_URL string = functionApp.outputs.url

@description('The Cosmos DB account.')
output AZURE_COSMOS_ACCOUNT string = cosmos.outputs.accountName

@description('What CosmosConnection__accountEndpoint is set to, for a handler or an audit on a laptop.')
output AZURE_COSMOS_ENDPOINT string = cosmos.outputs.endpoint

@description('The database in it.')
output AZURE_COSMOS_DATABASE string = databaseName

@description('Client id of the identity of the app.')
output AZURE_IDENTITY_CLIENT_ID string = identity.outputs.clientId

@description('The Log Analytics workspace that queries and workbooks run on.')
output AZURE_LOG_ANALYTICS_WORKSPACE string = monitoring.outputs.workspaceName
