// The alert rules and their receivers. Each rule has a runbook of its name in docs/operations.md.
param token string
param location string
param tags object
param email string
param cosmosAccountId string
param functionAppId string
param workspaceId string
param autoscale bool
param maximumInstanceCount int
param hasAlwaysReady bool
param executionsPerHour int

resource actionGroup 'Microsoft.Insights/actionGroups@2023-01-01' = if (!empty(email)) {
  name: 'ag-${token}'
  location: 'global'
  tags: tags
  properties: {
    groupShortName: 'tributary'
    enabled: true
    emailReceivers: [
      {
        name: 'operators'
        emailAddress: email
        useCommonAlertSchema: true
      }
    ]
  }
}

var actionGroupIds = empty(email) ? [] : [actionGroup.id]

module metricAlerts 'metric-alerts.bicep' = {
  name: 'metric-alerts'
  params: {
    token: token
    tags: tags
    cosmosAccountId: cosmosAccountId
    functionAppId: functionAppId
    autoscale: autoscale
    maximumInstanceCount: maximumInstanceCount
    hasAlwaysReady: hasAlwaysReady
    executionsPerHour: executionsPerHour
    actionGroupIds: actionGroupIds
  }
}

module logAlerts 'log-alerts.bicep' = {
  name: 'log-alerts'
  params: {
    token: token
    location: location
    tags: tags
    workspaceId: workspaceId
    actionGroupIds: actionGroupIds
  }
}
