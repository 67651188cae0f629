//! The functions of the blog, one file for each, as in `functions/`. Every file of the folder is a
//! module: a new story needs no line here, but this file must be touched once to be built again
//! (`complete::every_story_is_run` says so).

automod::dir!(pub(crate) "tests/it/blog");
