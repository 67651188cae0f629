// Role assignments of the app and of one person. A new assignment takes some minutes until every service knows of it.
@description('Object id of the identity of the app.')
param appPrincipalId string

@description('Object id of the identity that stores and reads packages.')
param deploymentPrincipalId string

@description('Object id of a person with the right to read and write the data; empty for none.')
param developerPrincipalId string

param storageName string
param packagesName string
param applicationInsightsName string
param cosmosAccountName string

var storageBlobDataOwner = 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b'
var storageBlobDataContributor = 'ba92f5b4-2d11-453d-a403-e96b0029c9fe'
var monitoringMetricsPublisher = '3913510d-42f4-4e42-8a64-420c390055eb'
// The built-in role of the data plane: Cosmos DB Built-in Data Contributor.
var cosmosDataContributor = '00000000-0000-0000-0000-000000000002'

resource storage 'Microsoft.Storage/storageAccounts@2025-06-01' existing = {
  name: storageName
}

resource packages 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-06-01' existing = {
  name: '${storageName}/default/${packagesName}'
}

resource applicationInsights 'Microsoft.Insights/components@2020-02-02' existing = {
  name: applicationInsightsName
}

resource cosmos 'Microsoft.DocumentDB/databaseAccounts@2025-10-15' existing = {
  name: cosmosAccountName
}

// Owner, not contributor: the host takes leases on its blobs and sets their access. The packages are not its
// own: an app that could write one would run it at its next start.
resource appOnStorage 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(storage.id, appPrincipalId, storageBlobDataOwner)
  scope: storage
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', storageBlobDataOwner)
    principalId: appPrincipalId
    principalType: 'ServicePrincipal'
    conditionVersion: '2.0'
    condition: '((!(ActionMatches{\'Microsoft.Storage/storageAccounts/blobServices/containers/blobs/write\'}) AND !(ActionMatches{\'Microsoft.Storage/storageAccounts/blobServices/containers/blobs/add/action\'}) AND !(ActionMatches{\'Microsoft.Storage/storageAccounts/blobServices/containers/blobs/delete\'}) AND !(ActionMatches{\'Microsoft.Storage/storageAccounts/blobServices/containers/blobs/move/action\'})) OR (@Resource[Microsoft.Storage/storageAccounts/blobServices/containers:name] StringNotEquals \'${packagesName}\'))'
  }
}

resource deploymentOnPackages 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(packages.id, deploymentPrincipalId, storageBlobDataContributor)
  scope: packages
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', storageBlobDataContributor)
    principalId: deploymentPrincipalId
    principalType: 'ServicePrincipal'
  }
}

resource appOnApplicationInsights 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(applicationInsights.id, appPrincipalId, monitoringMetricsPublisher)
  scope: applicationInsights
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', monitoringMetricsPublisher)
    principalId: appPrincipalId
    principalType: 'ServicePrincipal'
  }
}

// The whole account, not one database: the trigger and the SDK read the account's metadata too.
resource appOnCosmos 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2025-10-15' = {
  parent: cosmos
  name: guid(cosmos.id, appPrincipalId, cosmosDataContributor)
  properties: {
    roleDefinitionId: '${cosmos.id}/sqlRoleDefinitions/${cosmosDataContributor}'
    principalId: appPrincipalId
    scope: cosmos.id
  }
}

resource developerOnCosmos 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2025-10-15' = if (!empty(developerPrincipalId)) {
  parent: cosmos
  name: guid(cosmos.id, developerPrincipalId, cosmosDataContributor)
  properties: {
    roleDefinitionId: '${cosmos.id}/sqlRoleDefinitions/${cosmosDataContributor}'
    principalId: developerPrincipalId
    scope: cosmos.id
  }
  // The account takes one change at a time. Two assignments side by side can meet 412, "another user
  // operation in progress which requires an exclusive lock".
  dependsOn: [appOnCosmos]
}
