//! Metrics of the process, in the text format of Prometheus.
//!
//! `GET /metrics` is served on a listener of its own, or by the server of the pages if a token is given. Without either
//! setting, nothing is recorded and the path does not exist. Every metric is in [`list`]; the recorder ignores others.

pub use self::endpoint::Endpoint;
pub use self::recorder::Recorder;
pub use self::requests::measure;

mod endpoint;
mod exposition;
pub mod list;
mod process;
mod recorder;
mod requests;
