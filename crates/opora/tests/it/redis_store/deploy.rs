//! The example configuration of `deploy/`, in a real server.

use opora::store::{RedisStore, Store};
use opora_testkit::redis_server::RedisServer;

const CONFIGURATION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/redis.conf");

#[tokio::test]
async fn the_example_configuration_loses_nothing() {
    let server = RedisServer::start(&["--include", CONFIGURATION]);
    let locked_out = RedisStore::open(&server.url()).await.unwrap_err();
    assert!(locked_out.to_string().contains("password"), "{locked_out}");
    let address = server.url().replace("redis://", "redis://:change-this-password@");
    let store = RedisStore::open(&address).await.unwrap();
    assert!(store.describe().ends_with("a restart loses nothing"), "{}", store.describe());
    let mut connection = redis::Client::open(address).unwrap().get_connection().unwrap();
    for (setting, value) in [
        ("maxmemory-policy", "noeviction"),
        ("maxmemory", "536870912"),
        ("save", "900 1 300 10 60 10000"),
        ("protected-mode", "yes"),
    ] {
        let (_, said): (String, String) = redis::cmd("CONFIG").arg("GET").arg(setting).query(&mut connection).unwrap();
        assert_eq!(said, value, "{setting}");
    }
}
