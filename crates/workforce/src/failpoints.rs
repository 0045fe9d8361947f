//! The application's failpoints: named places where a test can pause or kill the process, besides those of the library.
//!
//! Release builds have none.

/// A file of a registration has its final name, and no row refers to it yet.
pub const REGISTRATION_AFTER_RENAME: &str = "registration.after_rename";
/// An attachment's file has its final name, and its row does not say so yet.
pub const ATTACHMENT_AFTER_RENAME: &str = "attachment.after_rename";
/// A notice is committed, and not posted yet.
pub const NOTICE_BEFORE_POST: &str = "notice.before_post";
/// A notice is posted, and its row does not say so yet.
pub const NOTICE_AFTER_POST: &str = "notice.after_post";
/// A person is forgotten in the tables, and not yet in the store.
pub const FORGETTING_BEFORE_STORE: &str = "forgetting.before_store";
/// A person is forgotten in the store, and the row in the forget queue still exists.
pub const FORGETTING_AFTER_STORE: &str = "forgetting.after_store";

#[cfg(debug_assertions)]
const ALL: &[&str] = &[
    REGISTRATION_AFTER_RENAME,
    ATTACHMENT_AFTER_RENAME,
    NOTICE_BEFORE_POST,
    NOTICE_AFTER_POST,
    FORGETTING_BEFORE_STORE,
    FORGETTING_AFTER_STORE,
];

/// Arms the failpoints that the environment names, such as `registration.after_rename=pause@2`.
#[cfg(debug_assertions)]
pub fn arm() -> anyhow::Result<()> {
    opora::failpoints::add(ALL);
    Ok(opora::failpoints::arm_from(&crate::config::failpoints())?)
}

#[cfg(not(debug_assertions))]
pub fn arm() -> anyhow::Result<()> {
    Ok(())
}

/// A failpoint; does nothing unless it is armed.
pub async fn hit(name: &'static str) {
    #[cfg(debug_assertions)]
    opora::failpoints::hit(name).await;
    #[cfg(not(debug_assertions))]
    let _ = name;
}
