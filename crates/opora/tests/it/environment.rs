//! The only reader of the environment in these tests. `cargo xtask soak` sets the first two; tests set the last one for
//! processes of their own.

/// How often a bot is killed at each failpoint; few times unless told.
pub fn kills() -> Option<usize> {
    std::env::var("OPORA_SOAK_KILLS").ok().and_then(|kills| kills.parse().ok())
}

/// How many people talk to a bot that is being killed; some unless told.
pub fn people() -> Option<usize> {
    std::env::var("OPORA_SOAK_PEOPLE").ok().and_then(|people| people.parse().ok())
}

/// What this process is to do as the child of a test; none if it is no child.
pub fn child() -> Option<String> {
    std::env::var(CHILD).ok()
}

/// The variable that makes a process a child.
pub const CHILD: &str = "OPORA_TEST_CHILD";
