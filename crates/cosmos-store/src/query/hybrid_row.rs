//! Batches of the .NET SDK: HybridRow in RecordIO.
