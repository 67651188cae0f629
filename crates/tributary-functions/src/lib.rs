#![doc = include_str!("../README.md")]

pub mod prelude;

pub mod program;

pub mod app;
pub mod domain;

mod dead_letters;
mod operator;
pub mod page;
mod rebuild;

pub mod audit;
pub mod engines;
pub mod projection;

pub mod cosmos;
pub mod http;

pub mod brand;
pub mod config;
pub mod telemetry;
pub mod values;

mod lock;
mod terminal;
