//! Removes function libraries that other versions of the product have left on the server.
//!
//! Each version loads its own library, so after an update the former one stays. It can be removed at any time: an
//! instance of that version that still runs loads it again. Scripts need no tidying: they are gone after a restart of
//! the server.

use std::collections::HashMap;

use redis::Value;

use super::{RedisBackend, library};
use crate::store::StoreResult;

impl RedisBackend {
    pub(super) async fn drop_old_libraries(&self, is_dry_run: bool) -> StoreResult<Vec<String>> {
        if !self.server.has_functions() {
            return Ok(Vec::new());
        }
        let mut command = redis::cmd("FUNCTION");
        command.arg("LIST").arg("LIBRARYNAME").arg(library::pattern());
        let listed: Vec<HashMap<String, Value>> = self.connection.query(&command).await?;
        let mut old: Vec<String> = listed.iter().filter_map(name_in).collect();
        old.retain(|name| library::is_of_another_version(name));
        old.sort();
        if !is_dry_run {
            for name in &old {
                self.connection.query::<()>(redis::cmd("FUNCTION").arg("DELETE").arg(name)).await?;
            }
        }
        Ok(old)
    }
}

fn name_in(library: &HashMap<String, Value>) -> Option<String> {
    redis::from_redis_value_ref(library.get("library_name")?).ok()
}
