// The whole app in one resource group, with identities instead of keys:
//
//     az group create --name rg-my-app --location westeurope
//     az deployment group create --resource-group rg-my-app --template-file infra/main.bicep
targetScope = 'resourceGroup'

@description('Region of all resources. It must offer Flex Consumption: az functionapp list-flexconsumption-locations.')
param location string = resourceGroup().location

@description('Name of the database.')
@minLength(1)
param databaseName string = 'my-app'

@description('Memory of an instance in MB.')
@allowed([512, 2048, 4096])
param instanceMemoryMB int = 2048

@description('The most instances that the app may have.')
@minValue(1)
@maxValue(1000)
param maximumInstanceCount int = 40

@description('Settings of the app, such as secrets: --parameters settings=\'{"TokenSecret": "…"}\'. They are not kept here.')
@secure()
param settings object = {}

var token = toLower(uniqueString(resourceGroup().id))
// The file that the local endpoint and the tests read, too. To add a container, add it there.
var containers = loadJsonContent('containers.json').containers

// The sites whose pages may call the app: those of Host.CORS, for which the platform answers OPTIONS.
var sites = loadJsonContent('../local.settings.json.example', 'Host.CORS')

var storageBlobDataOwner = 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b'
var storageBlobDataContributor = 'ba92f5b4-2d11-453d-a403-e96b0029c9fe'
var monitoringMetricsPublisher = '3913510d-42f4-4e42-8a64-420c390055eb'
// The built-in role of the data plane: Cosmos DB Built-in Data Contributor.
var cosmosDataContributor = '00000000-0000-0000-0000-000000000002'

resource identity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = {
  name: 'id-${token}'
  location: location
}

// Azure stores each package as this identity, and reads it.
resource deploymentIdentity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = {
  name: 'id-deployment-${token}'
  location: location
}

resource workspace 'Microsoft.OperationalInsights/workspaces@2025-07-01' = {
  name: 'log-${token}'
  location: location
  properties: {
    sku: { name: 'PerGB2018' }
    retentionInDays: 30
  }
}

resource applicationInsights 'Microsoft.Insights/components@2020-02-02' = {
  name: 'appi-${token}'
  location: location
  kind: 'web'
  properties: {
    Application_Type: 'web'
    WorkspaceResourceId: workspace.id
    DisableLocalAuth: true
  }
}

// The storage account of the Functions host: its locks, its keys, and the deployed package.
resource storage 'Microsoft.Storage/storageAccounts@2025-06-01' = {
  name: 'st${token}'
  location: location
  kind: 'StorageV2'
  sku: { name: 'Standard_LRS' }
  properties: {
    allowBlobPublicAccess: false
    allowSharedKeyAccess: false
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
  }

  resource blobs 'blobServices' = {
    name: 'default'

    resource packages 'containers' = {
      name: 'packages'
      properties: { publicAccess: 'None' }
    }
  }
}

resource account 'Microsoft.DocumentDB/databaseAccounts@2025-10-15' = {
  name: 'cosmos-${token}'
  location: location
  kind: 'GlobalDocumentDB'
  properties: {
    databaseAccountOfferType: 'Standard'
    capabilities: [{ name: 'EnableServerless' }]
    locations: [{ locationName: location, failoverPriority: 0 }]
    // Transactions and ETags decide races in one region.
    enableMultipleWriteLocations: false
    consistencyPolicy: { defaultConsistencyLevel: 'Session' }
    disableLocalAuth: true
    disableKeyBasedMetadataWriteAccess: true
    minimalTlsVersion: 'Tls12'
    backupPolicy: {
      type: 'Continuous'
      continuousModeProperties: { tier: 'Continuous7Days' }
    }
  }
}

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
    options: {}
  }
}]

// Owner, not contributor: the host takes leases on its blobs and sets their access. The packages are not its
// own: an app that could write one would run it at its next start.
resource appOnStorage 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(storage.id, identity.id, storageBlobDataOwner)
  scope: storage
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', storageBlobDataOwner)
    principalId: identity.properties.principalId
    principalType: 'ServicePrincipal'
    conditionVersion: '2.0'
    condition: '((!(ActionMatches{\'Microsoft.Storage/storageAccounts/blobServices/containers/blobs/write\'}) AND !(ActionMatches{\'Microsoft.Storage/storageAccounts/blobServices/containers/blobs/add/action\'}) AND !(ActionMatches{\'Microsoft.Storage/storageAccounts/blobServices/containers/blobs/delete\'}) AND !(ActionMatches{\'Microsoft.Storage/storageAccounts/blobServices/containers/blobs/move/action\'})) OR (@Resource[Microsoft.Storage/storageAccounts/blobServices/containers:name] StringNotEquals \'packages\'))'
  }
}

resource deploymentOnPackages 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(storage::blobs::packages.id, deploymentIdentity.id, storageBlobDataContributor)
  scope: storage::blobs::packages
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', storageBlobDataContributor)
    principalId: deploymentIdentity.properties.principalId
    principalType: 'ServicePrincipal'
  }
}

resource appOnApplicationInsights 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(applicationInsights.id, identity.id, monitoringMetricsPublisher)
  scope: applicationInsights
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', monitoringMetricsPublisher)
    principalId: identity.properties.principalId
    principalType: 'ServicePrincipal'
  }
}

resource appOnCosmos 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2025-10-15' = {
  parent: account
  name: guid(account.id, identity.id, cosmosDataContributor)
  properties: {
    roleDefinitionId: '${account.id}/sqlRoleDefinitions/${cosmosDataContributor}'
    principalId: identity.properties.principalId
    scope: account.id
  }
}

resource plan 'Microsoft.Web/serverfarms@2025-03-01' = {
  name: 'plan-${token}'
  location: location
  kind: 'functionapp'
  sku: {
    name: 'FC1'
    tier: 'FlexConsumption'
  }
  properties: { reserved: true }
}

resource app 'Microsoft.Web/sites@2025-03-01' = {
  name: 'func-${token}'
  location: location
  kind: 'functionapp,linux'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${identity.id}': {}
      '${deploymentIdentity.id}': {}
    }
  }
  properties: {
    serverFarmId: plan.id
    httpsOnly: true
    functionAppConfig: {
      runtime: {
        name: 'custom'
        version: '1.0'
      }
      deployment: {
        storage: {
          type: 'blobContainer'
          value: '${storage.properties.primaryEndpoints.blob}packages'
          authentication: {
            type: 'UserAssignedIdentity'
            userAssignedIdentityResourceId: deploymentIdentity.id
          }
        }
      }
      scaleAndConcurrency: {
        instanceMemoryMB: instanceMemoryMB
        maximumInstanceCount: maximumInstanceCount
      }
    }
    siteConfig: {
      minTlsVersion: '1.2'
      cors: { allowedOrigins: empty(sites) ? [] : split(sites, ',') }
      appSettings: concat(map(items(settings), setting => { name: setting.key, value: setting.value }), [
        { name: 'AzureWebJobsStorage__blobServiceUri', value: storage.properties.primaryEndpoints.blob }
        { name: 'AzureWebJobsStorage__credential', value: 'managedidentity' }
        { name: 'AzureWebJobsStorage__clientId', value: identity.properties.clientId }
        { name: 'APPLICATIONINSIGHTS_CONNECTION_STRING', value: applicationInsights.properties.ConnectionString }
        { name: 'APPLICATIONINSIGHTS_AUTHENTICATION_STRING', value: 'ClientId=${identity.properties.clientId};Authorization=AAD' }
        { name: 'AzureWebJobsDisableHomepage', value: 'true' }
        // The host keeps whole bodies in memory, of 100 MB by default. A larger one is a 500 of the host instead of
        // the app's 413, so keep it well above the app's limits (1 MiB).
        { name: 'FUNCTIONS_REQUEST_BODY_SIZE_LIMIT', value: '4194304' }
        // The triggers of the host and the handler read the same connection.
        { name: 'CosmosConnection__accountEndpoint', value: account.properties.documentEndpoint }
        { name: 'CosmosConnection__credential', value: 'managedidentity' }
        { name: 'CosmosConnection__clientId', value: identity.properties.clientId }
        { name: 'CosmosDatabase', value: databaseName }
        // The SDK would ask the metadata service of virtual machines who it is, and wait for that.
        { name: 'COSMOS_DISABLE_IMDS', value: 'true' }
      ])
    }
  }
  // Without its roles and its containers the app would start into errors.
  dependsOn: [appOnStorage, deploymentOnPackages, appOnApplicationInsights, appOnCosmos, containerResources]

  resource ftpPasswords 'basicPublishingCredentialsPolicies' = {
    name: 'ftp'
    properties: { allow: false }
  }

  resource scmPasswords 'basicPublishingCredentialsPolicies' = {
    name: 'scm'
    properties: { allow: false }
  }
}

@description('The function app: func azure functionapp publish takes this name.')
output functionAppName string = app.name

@description('Where the API answers.')
output url string = 'https://${app.properties.defaultHostName}'
