//! Named places of the application at which a test ends the process, beside those of the library.
//!
//! They are in no release build: there a place is nothing, and nobody asks what is to be armed.

/// One more file of a registration is in its place, and nobody knows yet.
pub const REGISTRATION_AFTER_RENAME: &str = "registration.after_rename";
/// An attachment is in its place, and its row does not say so yet.
pub const ATTACHMENT_AFTER_RENAME: &str = "attachment.after_rename";
/// A notice is committed, and not posted yet.
pub const NOTICE_BEFORE_POST: &str = "notice.before_post";
/// A notice is posted, and its row does not say so yet.
pub const NOTICE_AFTER_POST: &str = "notice.after_post";
/// A person is forgotten in the tables, and not yet in the store.
pub const FORGETTING_BEFORE_STORE: &str = "forgetting.before_store";
/// A person is forgotten in the store, and the note that asks for it is still there.
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

/// Arms what the environment names, such as `registration.after_rename=pause@2`.
#[cfg(debug_assertions)]
pub fn arm() -> anyhow::Result<()> {
    opora::failpoints::add(ALL);
    Ok(opora::failpoints::arm_from(&crate::config::failpoints())?)
}

#[cfg(not(debug_assertions))]
pub fn arm() -> anyhow::Result<()> {
    Ok(())
}

/// A place; goes on at once unless it is armed.
pub async fn hit(name: &'static str) {
    #[cfg(debug_assertions)]
    opora::failpoints::hit(name).await;
    #[cfg(not(debug_assertions))]
    let _ = name;
}
