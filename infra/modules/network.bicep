// Private networking: the app reaches the store and its storage account inside a virtual network.
param token string
param location string
param tags object
param vnetAddressPrefix string
param appSubnetAddressPrefix string
param endpointSubnetAddressPrefix string
param cosmosAccountId string
param storageId string

resource securityGroup 'Microsoft.Network/networkSecurityGroups@2025-05-01' = {
  name: 'nsg-${token}'
  location: location
  tags: tags
}

resource vnet 'Microsoft.Network/virtualNetworks@2025-05-01' = {
  name: 'vnet-${token}'
  location: location
  tags: tags
  properties: {
    addressSpace: { addressPrefixes: [vnetAddressPrefix] }
    subnets: [
      {
        name: 'app'
        properties: {
          addressPrefix: appSubnetAddressPrefix
          networkSecurityGroup: { id: securityGroup.id }
          // What a Flex Consumption app runs in.
          delegations: [
            {
              name: 'app-environments'
              properties: { serviceName: 'Microsoft.App/environments' }
            }
          ]
        }
      }
      {
        name: 'private-endpoints'
        properties: {
          addressPrefix: endpointSubnetAddressPrefix
          networkSecurityGroup: { id: securityGroup.id }
          privateEndpointNetworkPolicies: 'Enabled'
        }
      }
    ]
  }

  resource appSubnet 'subnets' existing = {
    name: 'app'
  }

  resource endpointSubnet 'subnets' existing = {
    name: 'private-endpoints'
  }
}

module cosmosEndpoint 'private-endpoint.bicep' = {
  name: 'private-endpoint-cosmos'
  params: {
    name: 'pep-cosmos-${token}'
    location: location
    tags: tags
    vnetId: vnet.id
    subnetId: vnet::endpointSubnet.id
    serviceId: cosmosAccountId
    groupId: 'Sql'
    zoneName: 'privatelink.documents.azure.com'
  }
}

// Blobs only: the host keeps locks, keys and packages there, and no function uses queues or tables.
module blobEndpoint 'private-endpoint.bicep' = {
  name: 'private-endpoint-blob'
  params: {
    name: 'pep-blob-${token}'
    location: location
    tags: tags
    vnetId: vnet.id
    subnetId: vnet::endpointSubnet.id
    serviceId: storageId
    groupId: 'blob'
    zoneName: 'privatelink.blob.${environment().suffixes.storage}'
  }
}

output appSubnetId string = vnet::appSubnet.id
