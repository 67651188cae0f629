// Alerts on what Azure measures by itself, one line each.
param token string
param tags object
param cosmosAccountId string
param functionAppId string
param autoscale bool
param maximumInstanceCount int
param hasAlwaysReady bool
param executionsPerHour int
param actionGroupIds array

var cosmos = { id: cosmosAccountId, namespace: 'Microsoft.DocumentDB/databaseAccounts' }
var functions = { id: functionAppId, namespace: 'Microsoft.Web/sites' }
var throttled = [{ name: 'StatusCode', operator: 'Include', values: ['429'] }]
var serverErrors = [{ name: 'StatusCode', operator: 'Include', values: ['500', '502', '503', '504'] }]
var GB = 1024 * 1024 * 1024

var always = [
  { key: 'cosmos-throttled', on: cosmos, metric: 'TotalRequests', dimensions: throttled, aggregation: 'Count', operator: 'GreaterThan', threshold: 100, window: 'PT5M', severity: 2, says: 'More than 100 requests in 5 minutes were throttled by Cosmos DB.' }
  { key: 'cosmos-server-errors', on: cosmos, metric: 'TotalRequests', dimensions: serverErrors, aggregation: 'Count', operator: 'GreaterThan', threshold: 5, window: 'PT5M', severity: 1, says: 'More than 5 requests in 5 minutes failed inside Cosmos DB.' }
  { key: 'cosmos-availability', on: cosmos, metric: 'ServiceAvailability', dimensions: [], aggregation: 'Average', operator: 'LessThan', threshold: json('99.9'), window: 'PT1H', severity: 1, says: 'Cosmos DB was available for less than 99.9 % of an hour.' }
  { key: 'cosmos-latency', on: cosmos, metric: 'ServerSideLatencyGateway', dimensions: [], aggregation: 'Average', operator: 'GreaterThan', threshold: 100, window: 'PT15M', severity: 3, says: 'Requests took Cosmos DB more than 100 ms on average over 15 minutes.' }
  { key: 'cosmos-physical-partition', on: cosmos, metric: 'PhysicalPartitionSizeInfo', dimensions: [], aggregation: 'Maximum', operator: 'GreaterThan', threshold: 40 * GB, window: 'PT1H', severity: 3, says: 'A physical partition is larger than 40 GB; it is split at 50 GB.' }
  { key: 'app-http-5xx', on: functions, metric: 'Http5xx', dimensions: [], aggregation: 'Total', operator: 'GreaterThan', threshold: 10, window: 'PT5M', severity: 1, says: 'More than 10 requests in 5 minutes were answered with a server error.' }
  { key: 'app-response-time', on: functions, metric: 'HttpResponseTime', dimensions: [], aggregation: 'Average', operator: 'GreaterThan', threshold: 2, window: 'PT15M', severity: 2, says: 'Answers took more than 2 seconds on average over 15 minutes.' }
  { key: 'app-cpu', on: functions, metric: 'CpuPercentage', dimensions: [], aggregation: 'Average', operator: 'GreaterThan', threshold: 85, window: 'PT15M', severity: 3, says: 'The instances used more than 85 % of their processors over 15 minutes.' }
  { key: 'app-executions', on: functions, metric: 'OnDemandFunctionExecutionCount', dimensions: [], aggregation: 'Total', operator: 'GreaterThan', threshold: executionsPerHour, window: 'PT1H', severity: 2, says: 'More executions in an hour on on-demand instances than the budget allows.' }
  { key: 'app-instances', on: functions, metric: 'InstanceCount', dimensions: [], aggregation: 'Average', operator: 'GreaterThan', threshold: maximumInstanceCount * 8 / 10, window: 'PT15M', severity: 2, says: 'All groups of functions together ran on more than 80 % of the instances that one of them may have, on average over 15 minutes.' }
]
// Serverless has no request units to use up.
var withAutoscale = [
  { key: 'cosmos-normalized-ru', on: cosmos, metric: 'NormalizedRUConsumption', dimensions: [], aggregation: 'Maximum', operator: 'GreaterThan', threshold: 90, window: 'PT15M', severity: 2, says: 'A physical partition used more than 90 % of its request units.' }
]
// Azure counts the executions on instances that are always ready apart from the others, and one rule
// cannot add two metrics.
var withAlwaysReady = [
  { key: 'app-executions-always-ready', on: functions, metric: 'AlwaysReadyFunctionExecutionCount', dimensions: [], aggregation: 'Total', operator: 'GreaterThan', threshold: executionsPerHour, window: 'PT1H', severity: 2, says: 'More executions in an hour on always-ready instances than the budget allows.' }
]
var rules = concat(always, autoscale ? withAutoscale : [], hasAlwaysReady ? withAlwaysReady : [])

resource alert 'Microsoft.Insights/metricAlerts@2018-03-01' = [for rule in rules: {
  name: '${rule.key}-${token}'
  location: 'global'
  tags: tags
  properties: {
    description: '${rule.says} Runbook: docs/operations.md#${rule.key}'
    severity: rule.severity
    enabled: true
    autoMitigate: true
    scopes: [rule.on.id]
    evaluationFrequency: rule.window == 'PT1H' ? 'PT15M' : 'PT5M'
    windowSize: rule.window
    criteria: {
      'odata.type': 'Microsoft.Azure.Monitor.SingleResourceMultipleMetricCriteria'
      allOf: [
        {
          criterionType: 'StaticThresholdCriterion'
          name: rule.key
          metricNamespace: rule.on.namespace
          metricName: rule.metric
          dimensions: rule.dimensions
          timeAggregation: rule.aggregation
          operator: rule.operator
          threshold: rule.threshold
          // A new site has no metrics yet, and Azure would refuse the rule: "Couldn't find a metric named".
          skipMetricValidation: true
        }
      ]
    }
    actions: [for id in actionGroupIds: { actionGroupId: id }]
  }
}]
