//! All changes under one lock are one record, which is read completely or not at all.

use std::fs;
use std::io;
use std::path::Path;

use super::*;
use crate::token::Token;
use crate::world::NewMessage;
use crate::world::content::{Content, TextWithEntities};
use crate::world::user::User;

const ANNA: i64 = 1001;

fn world() -> World {
    let token = Token::parse("123456789:AAtesttesttesttesttesttesttesttestt").unwrap();
    World::new(token, Limits::default())
}

/// A world with an event log and one person.
fn kept_world(data: &Path) -> World {
    let mut world = world();
    world.event_log = Some(create(data, &world).unwrap());
    world.put_user(User {
        id: ANNA,
        is_bot: false,
        first_name: "Anna".into(),
        last_name: None,
        username: None,
        language_code: None,
    });
    release(&world);
    world
}

/// What the release of the world's lock does.
fn release(world: &World) {
    let event_log = world.event_log.as_ref().unwrap();
    event_log.seal();
    event_log.write();
}

/// Anna says a text: a message and its update.
fn say(world: &mut World, text: &str) {
    let content = Content::Text(TextWithEntities { text: text.into(), ..TextWithEntities::default() });
    let id = world.post(ANNA, NewMessage { from: ANNA, content, markup: None, extra: None }).unwrap();
    world.queue_message(UpdateKind::Message, ANNA, id);
}

fn lines_of(world: &World) -> PathBuf {
    world.event_log.as_ref().unwrap().folder.join(LINES)
}

/// The number of messages and updates that an event log restores.
fn counted(path: &Path) -> (usize, usize) {
    let world = read::world(path.parent().unwrap(), path, Limits::default()).unwrap();
    (world.chat(ANNA).map_or(0, |chat| chat.messages().count()), world.queue.len())
}

#[test]
fn a_bot_made_twice_at_once_has_two_folders() -> io::Result<()> {
    let data = tempfile::tempdir()?;
    let (one, two) = (create(data.path(), &world())?, create(data.path(), &world())?);
    assert!(one.folder < two.folder, "the later one comes last: {:?} {:?}", one.folder, two.folder);
    Ok(())
}

#[test]
fn the_changes_under_one_lock_are_one_line() {
    let data = tempfile::tempdir().unwrap();
    let mut world = kept_world(data.path());
    let before = fs::read_to_string(lines_of(&world)).unwrap().lines().count();
    say(&mut world, "hello");
    release(&world);
    let lines = fs::read_to_string(lines_of(&world)).unwrap();
    assert_eq!(lines.lines().count(), before + 1, "{lines}");
    let last = lines.lines().last().unwrap();
    assert!(last.starts_with(r#"[["message""#) && last.contains(r#"["update""#), "{last}");
}

#[test]
fn a_torn_record_is_dropped_whole() {
    let data = tempfile::tempdir().unwrap();
    let mut world = kept_world(data.path());
    say(&mut world, "first");
    release(&world);
    let path = lines_of(&world);
    let whole = fs::metadata(&path).unwrap().len() as usize;
    say(&mut world, "второе");
    release(&world);
    let bytes = fs::read(&path).unwrap();
    assert_eq!(counted(&path), (2, 2));
    for end in whole..bytes.len() {
        fs::write(&path, &bytes[..end]).unwrap();
        assert_eq!(counted(&path), (1, 1), "cut at {} of {}", end - whole, bytes.len() - whole);
    }
}

#[test]
fn a_writer_takes_the_records_of_others_along() {
    let data = tempfile::tempdir().unwrap();
    let mut world = kept_world(data.path());
    let event_log = world.event_log.clone().unwrap();
    say(&mut world, "one");
    assert!(event_log.seal());
    say(&mut world, "two");
    assert!(event_log.seal());
    assert_eq!(counted(&lines_of(&world)), (0, 0), "nothing is written under the lock");
    event_log.write();
    assert_eq!(counted(&lines_of(&world)), (2, 2));
    assert!(!event_log.seal(), "nothing waits");
}

#[test]
fn an_unused_upload_is_removed_at_the_start() {
    let data = tempfile::tempdir().unwrap();
    let world = kept_world(data.path());
    let event_log = world.event_log.clone().unwrap();
    event_log.store(&bytes::Bytes::from_static(b"of a refused call"));
    let uploads = event_log.folder.join(UPLOADS);
    assert_eq!(fs::read_dir(&uploads).unwrap().count(), 1);
    drop(open_all(data.path(), Limits::default()).unwrap());
    assert_eq!(fs::read_dir(&uploads).unwrap().count(), 0);
}

#[test]
fn a_deleted_bot_does_not_come_back() {
    let data = tempfile::tempdir().unwrap();
    let world = kept_world(data.path());
    let event_log = world.event_log.clone().unwrap();
    // As after a kill between the rename and the removal.
    fs::rename(lines_of(&world), event_log.folder.join(FORGOTTEN)).unwrap();
    assert!(open_all(data.path(), Limits::default()).unwrap().is_empty());
    assert!(!event_log.folder.exists());
}
