// Alerts on what only the logs tell, one line each; each query is a file in infra/kql/.
param token string
param location string
param tags object
param workspaceId string
param actionGroupIds array

// `measure` is the column that is compared, `by` the column that makes alerts of their own of its
// values, `times` in how many windows in a row it has to be so.
var rules = [
  { key: 'change-feed-lag', query: loadTextContent('../kql/change-feed-lag.kql'), measure: 'LagSeconds', by: 'Function', threshold: 60, window: 'PT5M', times: 3, severity: 2, says: 'A projection lags more than a minute behind its source.' }
  { key: 'change-feed-silent', query: loadTextContent('../kql/change-feed-silent.kql'), measure: 'WaitingMinutes', by: 'Function', threshold: 10, window: 'PT6H', times: 1, severity: 1, says: 'Writes have waited for a projection for more than 10 minutes.' }
  { key: 'trigger-failing', query: loadTextContent('../kql/trigger-failing.kql'), measure: 'Lines', by: 'Trigger', threshold: 3, window: 'PT15M', times: 1, severity: 1, says: 'A trigger fails before it calls the handler, and its changes wait.' }
  { key: 'host-rewrites-dates', query: loadTextContent('../kql/host-rewrites-dates.kql'), measure: 'Lines', by: '', threshold: 0, window: 'PT15M', times: 1, severity: 2, says: 'The host parses texts as dates: copies differ from their posts, and one text can stop the change feed.' }
  { key: 'lease-age', query: loadTextContent('../kql/lease-age.kql'), measure: 'WaitingMinutes', by: 'Lease', threshold: 15, window: 'PT6H', times: 1, severity: 2, says: 'A physical partition is written to, and no instance has renewed its lease.' }
  { key: 'lease-stopped', query: loadTextContent('../kql/lease-stopped.kql'), measure: 'StoppedLeases', by: 'Function', threshold: 0, window: 'PT15M', times: 1, severity: 1, says: 'Changes have waited for a lease that no instance has, or that does not move.' }
  { key: 'changes-waiting', query: loadTextContent('../kql/changes-waiting.kql'), measure: 'WaitingSeconds', by: 'Function', threshold: 600, window: 'PT15M', times: 1, severity: 2, says: 'Changes have waited for a projection for more than 10 minutes.' }
  { key: 'projection-failing', query: loadTextContent('../kql/projection-failing.kql'), measure: 'FailedChanges', by: 'Function', threshold: 0, window: 'PT5M', times: 3, severity: 1, says: 'A projection fails repeatedly, and its partition waits.' }
  { key: 'projection-paused', query: loadTextContent('../kql/projection-paused.kql'), measure: 'PausedHours', by: 'Function', threshold: 24, window: 'PT15M', times: 1, severity: 2, says: 'A projection has been paused for more than a day, and its changes wait.' }
  { key: 'dead-letters', query: loadTextContent('../kql/dead-letters.kql'), measure: 'DeadLetters', by: 'Function', threshold: 0, window: 'PT15M', times: 1, severity: 2, says: 'Changes were stored as dead letters.' }
  { key: 'handler-crashing', query: loadTextContent('../kql/handler-crashing.kql'), measure: 'Stops', by: '', threshold: 0, window: 'PT15M', times: 1, severity: 1, says: 'The handler ended three times in a row, and the host stopped.' }
  { key: 'hot-partition', query: loadTextContent('../kql/hot-partition.kql'), measure: 'SharePercent', by: 'Container', threshold: 80, window: 'PT30M', times: 1, severity: 2, says: 'One logical partition takes more than 80 % of the request units of its container.' }
  { key: 'logical-partition-14-gb', query: loadTextContent('../kql/logical-partition-size.kql'), measure: 'SizeMB', by: 'Container', threshold: 14 * 1024, window: 'PT1H', times: 1, severity: 2, says: 'A logical partition is larger than 14 GB; it cannot grow beyond 20 GB.' }
  { key: 'logical-partition-15-gb', query: loadTextContent('../kql/logical-partition-size.kql'), measure: 'SizeMB', by: 'Container', threshold: 15 * 1024, window: 'PT1H', times: 1, severity: 1, says: 'A logical partition is larger than 15 GB; it cannot grow beyond 20 GB.' }
  { key: 'migration-lag', query: loadTextContent('../kql/migration-lag.kql'), measure: 'LagHours', by: '', threshold: 24, window: 'PT1H', times: 1, severity: 2, says: 'A feed item has waited for more than a day to go to the warm container.' }
  { key: 'migration-silent', query: loadTextContent('../kql/migration-silent.kql'), measure: 'SilentMinutes', by: '', threshold: 60, window: 'PT6H', times: 1, severity: 2, says: 'No run of the migration of feed items has ended for more than an hour.' }
  { key: 'cross-partition-share', query: loadTextContent('../kql/cross-partition-share.kql'), measure: 'SharePercent', by: 'Source', threshold: 50, window: 'PT1H', times: 1, severity: 3, says: 'More than half of the queries go to more than one partition.' }
  { key: 'partition-key-skew', query: loadTextContent('../kql/partition-key-skew.kql'), measure: 'GiniPercent', by: 'Container', threshold: 70, window: 'PT1H', times: 1, severity: 3, says: 'The request units are spread over the partition keys with a Gini coefficient above 0.7.' }
]

resource alert 'Microsoft.Insights/scheduledQueryRules@2023-12-01' = [for rule in rules: {
  name: '${rule.key}-${token}'
  location: location
  tags: tags
  kind: 'LogAlert'
  properties: {
    displayName: rule.key
    description: '${rule.says} Runbook: docs/operations.md#${rule.key}'
    severity: rule.severity
    enabled: true
    autoMitigate: true
    // A table exists from its first row on, and a new workspace has none.
    skipQueryValidation: true
    scopes: [workspaceId]
    evaluationFrequency: rule.window == 'PT5M' ? 'PT5M' : 'PT15M'
    windowSize: rule.window
    criteria: {
      allOf: [
        {
          query: rule.query
          timeAggregation: 'Maximum'
          metricMeasureColumn: rule.measure
          dimensions: empty(rule.by) ? [] : [{ name: rule.by, operator: 'Include', values: ['*'] }]
          operator: 'GreaterThan'
          threshold: rule.threshold
          failingPeriods: {
            numberOfEvaluationPeriods: rule.times
            minFailingPeriodsToAlert: rule.times
          }
        }
      ]
    }
    actions: { actionGroups: actionGroupIds }
  }
}]
