//! Polls, reactions, groups and their members.

use teloxide::prelude::*;
use teloxide::types::{
    ChatMemberUpdated, MessageOrigin, MessageReactionUpdated, PollAnswer, ReactionType, ReplyParameters, User,
};

use crate::{Done, Polls};

pub async fn poll(bot: Bot, message: Message, polls: Polls) -> Done {
    let options = ["Tea", "Coffee", "Both"].map(|option| option.to_owned().into());
    let sent = bot
        .send_poll(message.chat.id, "Tea or coffee?", options)
        .is_anonymous(false)
        .allows_multiple_answers(true)
        .await?;
    let id = sent.poll().ok_or("no poll was sent")?.id.clone();
    polls
        .lock()
        .expect("no holder panics")
        .insert(id, (sent.chat.id, sent.id));
    Ok(())
}

pub async fn vote(bot: Bot, answer: PollAnswer, polls: Polls) -> Done {
    let voter = answer.voter.user().ok_or("an anonymous voter")?.id;
    let voted: Vec<String> = answer.option_ids.iter().map(u8::to_string).collect();
    bot.send_message(voter, format!("voted {}", voted.join(","))).await?;
    let sent = polls.lock().expect("no holder panics").remove(&answer.poll_id);
    let (chat, message) = sent.ok_or("an unknown poll")?;
    let closed = bot.stop_poll(chat, message).await?;
    let counts: Vec<String> = closed
        .options
        .iter()
        .map(|option| option.voter_count.to_string())
        .collect();
    bot.send_message(
        voter,
        format!("votes {}: {}", closed.total_voter_count, counts.join(",")),
    )
    .await?;
    Ok(())
}

pub async fn reaction(bot: Bot, change: MessageReactionUpdated) -> Done {
    let emoji: String = change.new_reaction.iter().filter_map(emoji).collect();
    bot.send_message(change.chat.id, format!("reaction {emoji}")).await?;
    Ok(())
}

fn emoji(reaction: &ReactionType) -> Option<&str> {
    match reaction {
        ReactionType::Emoji { emoji } => Some(emoji),
        _ => None,
    }
}

pub async fn tidy(bot: Bot, message: Message) -> Done {
    let chat = message.chat.id;
    let one = bot.send_message(chat, "one").await?;
    bot.pin_chat_message(chat, one.id).disable_notification(true).await?;
    let forwarded = bot.forward_message(chat, chat, one.id).await?;
    let copied = bot.copy_message(chat, chat, one.id).await?;
    bot.delete_message(chat, copied).await?;
    let full = bot.get_chat(chat).await?;
    let pinned = full.pinned_message.ok_or("nothing is pinned")?;
    let Some(MessageOrigin::User { sender_user, .. }) = forwarded.forward_origin() else {
        return Err("forwarded from no user".into());
    };
    let text = format!(
        "from user {}, pinned {}",
        sender_user.id,
        pinned.text().unwrap_or_default()
    );
    bot.send_message(chat, text).await?;
    Ok(())
}

pub async fn who(bot: Bot, message: Message) -> Done {
    let chat = message.chat.id;
    let count = bot.get_chat_member_count(chat).await?;
    let full = bot.get_chat(chat).await?;
    let sender = message.from.as_ref().ok_or("no sender")?.id;
    let member = bot.get_chat_member(chat, sender).await?;
    let status = if member.is_owner() { "creator" } else { "member" };
    let text = format!("{}: {count} people, you are {status}", full.title().unwrap_or_default());
    let mut answer = bot
        .send_message(chat, text)
        .reply_parameters(ReplyParameters::new(message.id));
    if let Some(topic) = message.thread_id.filter(|_| message.is_topic_message) {
        answer = answer.message_thread_id(topic);
    }
    answer.await?;
    Ok(())
}

pub async fn joined(bot: Bot, message: Message, users: Vec<User>) -> Done {
    let names: Vec<&str> = users.iter().map(|user| user.first_name.as_str()).collect();
    bot.send_message(message.chat.id, format!("welcome {}", names.join(", ")))
        .await?;
    Ok(())
}

pub async fn left(bot: Bot, message: Message, user: User) -> Done {
    bot.send_message(message.chat.id, format!("goodbye {}", user.first_name))
        .await?;
    Ok(())
}

pub async fn member_status(bot: Bot, change: ChatMemberUpdated) -> Done {
    if change.old_chat_member.is_banned() && change.new_chat_member.is_member() {
        bot.send_message(change.chat.id, format!("welcome back {}", change.from.first_name))
            .await?;
    }
    Ok(())
}
