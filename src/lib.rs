//! A serverless back end on Azure Functions and Azure Cosmos DB.
