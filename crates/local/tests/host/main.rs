//! The stand-in for the Functions host, entered as a function app and its users enter it.

mod support;

mod feed;
