//! Downloads and uploads files.

use std::sync::Arc;

use teloxide::net::Download;
use teloxide::prelude::*;
use teloxide::types::{Document, FileId, InputFile, InputMedia, InputMediaPhoto, ParseMode, PhotoSize};

use crate::{Done, Failure, Given};

pub async fn take_photo(bot: Bot, message: Message, sizes: Vec<PhotoSize>, given: Arc<Given>) -> Done {
    let chat = message.chat.id;
    let photo = sizes.last().ok_or("a photo without sizes")?;
    let content = content_of(&bot, &photo.file.id).await?;
    let told = format!("photo {}x{} {} bytes", photo.width, photo.height, content.len());
    bot.send_message(chat, told).await?;
    let same = InputFile::memory(content).file_name("same.png");
    bot.send_document(chat, same).caption("the same bytes").await?;
    let mine = InputFile::file(&given.picture);
    bot.send_photo(chat, mine.clone())
        .caption("<b>mine</b>")
        .parse_mode(ParseMode::Html)
        .await?;
    let album = [
        InputMedia::Photo(InputMediaPhoto::new(mine).caption("album")),
        InputMedia::Photo(InputMediaPhoto::new(InputFile::file_id(photo.file.id.clone()))),
    ];
    bot.send_media_group(chat, album).await?;
    Ok(())
}

pub async fn take_document(bot: Bot, message: Message, document: Document) -> Done {
    let content = content_of(&bot, &document.file.id).await?;
    let name = document.file_name.unwrap_or_default();
    let kind = document.mime_type.map(|kind| kind.to_string()).unwrap_or_default();
    let caption = message.caption().unwrap_or_default();
    let told = format!("document {name} {kind} {caption} {} bytes", content.len());
    bot.send_message(message.chat.id, told).await?;
    Ok(())
}

async fn content_of(bot: &Bot, id: &FileId) -> Result<Vec<u8>, Failure> {
    let file = bot.get_file(id.clone()).await?;
    let mut content = Vec::new();
    bot.download_file(&file.path, &mut content).await?;
    Ok(content)
}
