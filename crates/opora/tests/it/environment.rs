//! The only reader of the environment in these tests. `cargo xtask soak` sets the first two, `cargo xtask test` the
//! next four; tests set the last one for processes of their own.

/// How often a bot is killed at each failpoint; few times unless told.
pub fn kills() -> Option<usize> {
    std::env::var("OPORA_SOAK_KILLS").ok().and_then(|kills| kills.parse().ok())
}

/// How many people talk to a bot that is being killed; some unless told.
pub fn people() -> Option<usize> {
    std::env::var("OPORA_SOAK_PEOPLE").ok().and_then(|people| people.parse().ok())
}

/// A Redis for tests that need one and do it no harm; without it they start their own.
pub fn redis_url() -> Option<String> {
    std::env::var("TEST_REDIS_URL").ok().filter(|url| !url.is_empty())
}

/// A PostgreSQL for tests that need one and do it no harm; without it they start their own.
pub fn database_url() -> Option<String> {
    std::env::var("TEST_DATABASE_URL").ok().filter(|url| !url.is_empty())
}

/// A Python with aiogram and its Redis client; `cargo xtask test` prepares it.
pub fn python() -> std::path::PathBuf {
    let python = std::env::var_os("OPORA_TEST_PYTHON");
    python.expect("OPORA_TEST_PYTHON is not set: run the tests by `cargo xtask test`, which prepares it").into()
}

/// The program of a Redis 6.2; `cargo xtask test` prepares it.
pub fn old_redis() -> std::path::PathBuf {
    let program = std::env::var_os("OPORA_TEST_OLD_REDIS");
    program.expect("OPORA_TEST_OLD_REDIS is not set: run the tests by `cargo xtask test`, which prepares it").into()
}

/// What this process is to do as the child of a test; none if it is no child.
pub fn child() -> Option<String> {
    std::env::var(CHILD).ok()
}

/// The variable that makes a process a child.
pub const CHILD: &str = "OPORA_TEST_CHILD";
