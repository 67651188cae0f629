pub(crate) async fn load(
    _: &str,
    _: Option<&tributary_local::host::Keys>,
    _: &tributary_local::host::Console,
) -> anyhow::Result<()> {
    Ok(())
}
