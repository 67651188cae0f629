// The storage account of the Functions host: its locks, its keys, the state of timers, and the
// deployed package. No data of the domain is here.
param name string
param location string
param tags object
param zoneRedundant bool
param publicNetworkAccess bool

var packages = 'packages'

resource account 'Microsoft.Storage/storageAccounts@2025-06-01' = {
  //checkov:skip=CKV_AZURE_35:The network is closed with privateNetworking; without it the app has no fixed address, and only identities get in
  //checkov:skip=CKV_AZURE_206:Nothing here is worth a second region, a deployment makes it anew; zoneRedundant spreads it over zones
  name: name
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: { name: zoneRedundant ? 'Standard_ZRS' : 'Standard_LRS' }
  properties: {
    accessTier: 'Hot'
    allowBlobPublicAccess: false
    allowCrossTenantReplication: false
    allowSharedKeyAccess: false
    defaultToOAuthAuthentication: true
    minimumTlsVersion: 'TLS1_2'
    publicNetworkAccess: publicNetworkAccess ? 'Enabled' : 'Disabled'
    supportsHttpsTrafficOnly: true
    networkAcls: {
      bypass: 'AzureServices'
      defaultAction: publicNetworkAccess ? 'Allow' : 'Deny'
    }
  }
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2025-06-01' = {
  parent: account
  name: 'default'
  properties: {
    deleteRetentionPolicy: {
      enabled: true
      days: 7
    }
    containerDeleteRetentionPolicy: {
      enabled: true
      days: 7
    }
  }
}

resource packageContainer 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-06-01' = {
  parent: blobs
  name: packages
  properties: { publicAccess: 'None' }
}

output id string = account.id
output name string = account.name
output blobEndpoint string = account.properties.primaryEndpoints.blob
output packagesName string = packageContainer.name
output packageContainerUrl string = '${account.properties.primaryEndpoints.blob}${packageContainer.name}'
