// App Service Authentication with Entra ID, without a client secret: it checks bearer tokens and does
// not sign anybody in.
param appName string

@description('Client id of the app registration that callers get their tokens for.')
param clientId string

resource app 'Microsoft.Web/sites@2025-03-01' existing = {
  name: appName
}

// Tokens are checked before a request reaches the host, and headers that claim a caller are taken
// out. Requests without a token go through: queries are public, and the handler refuses
// commands without a principal.
resource authentication 'Microsoft.Web/sites/config@2025-03-01' = {
  //checkov:skip=CKV_AZURE_13:This resource is the sign-in; the rule looks for it among the settings of a site
  //checkov:skip=CKV_AZURE_63:The rule is for the resource of web settings, this one holds the sign-in only
  //checkov:skip=CKV_AZURE_65:The rule is for the resource of web settings, this one holds the sign-in only
  //checkov:skip=CKV_AZURE_66:The rule is for the resource of web settings, this one holds the sign-in only
  //checkov:skip=CKV_AZURE_80:The rule is for the resource of web settings, and there is no .NET here
  //checkov:skip=CKV_AZURE_88:The rule is for the resource of web settings, this one holds the sign-in only
  //checkov:skip=CKV_AZURE_222:The app is a public HTTP API
  parent: app
  name: 'authsettingsV2'
  properties: {
    platform: { enabled: true }
    globalValidation: {
      requireAuthentication: false
      unauthenticatedClientAction: 'AllowAnonymous'
    }
    httpSettings: { requireHttps: true }
    identityProviders: {
      azureActiveDirectory: {
        enabled: true
        registration: {
          clientId: clientId
          openIdIssuer: '${environment().authentication.loginEndpoint}${tenant().tenantId}/v2.0'
        }
        validation: { allowedAudiences: [clientId, 'api://${clientId}'] }
      }
    }
    login: { tokenStore: { enabled: false } }
  }
}
