// The store: the account, one database, and every container of infra/containers.json, the file that
// the local stack and the tests read too. To add a container, add it there; nothing here changes.
param accountName string
param databaseName string
param location string
param tags object
param capacityMode string
param autoscaleMaxThroughput int
param containerMaxThroughput object
param zoneRedundant bool
param backupRetention string
param publicNetworkAccess bool
param workspaceId string
param logDataPlaneRequests bool

var containers = loadJsonContent('../containers.json').containers
var serverless = capacityMode == 'serverless'

resource account 'Microsoft.DocumentDB/databaseAccounts@2025-10-15' = {
  //checkov:skip=CKV_AZURE_101:The network is closed with privateNetworking; without it only identities with a role get in
  name: accountName
  location: location
  tags: tags
  kind: 'GlobalDocumentDB'
  properties: {
    databaseAccountOfferType: 'Standard'
    capabilities: serverless ? [{ name: 'EnableServerless' }] : []
    // One region (docs/consistency.md): in a second one, the latest state that commands read may lag;
    // and a second write region would resolve conflicts by the last writer.
    locations: [{ locationName: location, failoverPriority: 0, isZoneRedundant: zoneRedundant }]
    enableMultipleWriteLocations: false
    consistencyPolicy: { defaultConsistencyLevel: 'Session' }
    // Renames ask for low priority. A serverless account has no priorities.
    enablePriorityBasedExecution: !serverless
    // Identities only, in the data plane and in the control plane.
    disableLocalAuth: true
    disableKeyBasedMetadataWriteAccess: true
    minimalTlsVersion: 'Tls12'
    publicNetworkAccess: publicNetworkAccess ? 'Enabled' : 'Disabled'
    networkAclBypass: 'None'
    backupPolicy: {
      type: 'Continuous'
      continuousModeProperties: { tier: backupRetention }
    }
  }
}

// No throughput on the database: containers that share it slow each other down, and the smallest
// cannot be told from the busiest on the bill.
resource database 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases@2025-10-15' = {
  parent: account
  name: databaseName
  properties: {
    resource: { id: databaseName }
  }
}

// One at a time: the control plane answers parallel creations with 429.
@batchSize(1)
resource containerResources 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2025-10-15' = [for container in containers: {
  parent: database
  name: container.id
  properties: {
    resource: container
    options: serverless ? {} : { autoscaleSettings: { maxThroughput: containerMaxThroughput[?container.id] ?? autoscaleMaxThroughput } }
  }
}]

resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'to-log-analytics'
  scope: account
  properties: {
    workspaceId: workspaceId
    logAnalyticsDestinationType: 'Dedicated'
    logs: [
      { category: 'ControlPlaneRequests', enabled: true }
      { category: 'PartitionKeyRUConsumption', enabled: true }
      { category: 'PartitionKeyStatistics', enabled: true }
      { category: 'QueryRuntimeStatistics', enabled: true }
      { category: 'DataPlaneRequests', enabled: logDataPlaneRequests }
    ]
  }
}

output accountId string = account.id
output accountName string = account.name
output endpoint string = account.properties.documentEndpoint
