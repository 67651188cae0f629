// One private endpoint with all that it takes: without the zone, its link and the zone group the
// name of the service still resolves to its public address, which is closed.
param name string
param location string
param tags object
param vnetId string
param subnetId string
param serviceId string
param groupId string
param zoneName string

resource zone 'Microsoft.Network/privateDnsZones@2024-06-01' = {
  name: zoneName
  location: 'global'
  tags: tags

  resource link 'virtualNetworkLinks' = {
    name: uniqueString(vnetId)
    location: 'global'
    tags: tags
    properties: {
      registrationEnabled: false
      virtualNetwork: { id: vnetId }
    }
  }
}

resource endpoint 'Microsoft.Network/privateEndpoints@2025-05-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    subnet: { id: subnetId }
    privateLinkServiceConnections: [
      {
        name: groupId
        properties: {
          privateLinkServiceId: serviceId
          groupIds: [groupId]
        }
      }
    ]
  }

  resource zoneGroup 'privateDnsZoneGroups' = {
    name: 'default'
    properties: {
      privateDnsZoneConfigs: [
        {
          name: groupId
          properties: { privateDnsZoneId: zone.id }
        }
      ]
    }
  }
}
