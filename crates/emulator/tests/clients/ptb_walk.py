"""The walk in python-telegram-bot, by polling."""
import asyncio
import os
from pathlib import Path

from telegram import (
    BotCommand,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InputMediaPhoto,
    KeyboardButton,
    Message,
    ReplyKeyboardMarkup,
    ReplyKeyboardRemove,
    ReplyParameters,
    Update,
)
from telegram.constants import ChatAction, ParseMode
from telegram.error import RetryAfter, TelegramError
from telegram.ext import (
    Application,
    CallbackQueryHandler,
    ChatMemberHandler,
    CommandHandler,
    ContextTypes,
    MessageHandler,
    MessageReactionHandler,
    PollAnswerHandler,
    filters,
)

PICTURE = Path(os.environ["PICTURE"])
API_URL = os.environ["API_URL"]
Context = ContextTypes.DEFAULT_TYPE


async def start(update: Update, context: Context) -> None:
    await update.effective_chat.send_action(ChatAction.TYPING)
    choice = [InlineKeyboardButton(word, callback_data=f"choice:{word.lower()}") for word in ("Yes", "No")]
    keyboard = InlineKeyboardMarkup([choice, [InlineKeyboardButton("Site", url="https://example.org/")]])
    hello = f"Hello, {update.effective_user.first_name}! I am @{context.bot.username}"
    await update.message.reply_text(hello, reply_markup=keyboard)


async def choose(update: Update, context: Context) -> None:
    query = update.callback_query
    choice = query.data.removeprefix("choice:")
    await query.answer(f"You chose {choice}", show_alert=True)
    await query.edit_message_text(f"Chosen: {choice}")


async def ask_contact(update: Update, context: Context) -> None:
    phone = KeyboardButton("My phone", request_contact=True)
    place = KeyboardButton("My place", request_location=True)
    keyboard = ReplyKeyboardMarkup(
        [[phone], [place]], resize_keyboard=True, one_time_keyboard=True, input_field_placeholder="Phone"
    )
    await update.message.reply_text("Share your phone", reply_markup=keyboard)


async def take_contact(update: Update, context: Context) -> None:
    contact = update.message.contact
    own = str(contact.user_id == update.effective_user.id).lower()
    text = f"contact {contact.phone_number} {contact.first_name} own={own}"
    await update.message.reply_text(text, reply_markup=ReplyKeyboardRemove())


async def take_location(update: Update, context: Context) -> None:
    place = update.message.location
    await update.message.reply_text(f"location {place.latitude:.4f} {place.longitude:.4f}")
    await update.message.reply_location(location=place)


async def take_photo(update: Update, context: Context) -> None:
    message, photo = update.message, update.message.photo[-1]
    content = bytes(await (await photo.get_file()).download_as_bytearray())
    await message.reply_text(f"photo {photo.width}x{photo.height} {len(content)} bytes")
    await message.reply_document(content, filename="same.png", caption="the same bytes")
    await message.reply_photo(PICTURE, caption="<b>mine</b>", parse_mode=ParseMode.HTML)
    album = [InputMediaPhoto(PICTURE.read_bytes(), caption="album"), InputMediaPhoto(photo)]
    await message.reply_media_group(album)


async def take_document(update: Update, context: Context) -> None:
    message, document = update.message, update.message.document
    content = await (await document.get_file()).download_as_bytearray()
    text = f"document {document.file_name} {document.mime_type} {message.caption} {len(content)} bytes"
    await message.reply_text(text)


async def limit(update: Update, context: Context) -> None:
    try:
        await update.message.reply_text("no limit reached")
    except RetryAfter as error:
        await asyncio.sleep(error.retry_after)
        await update.message.reply_text(f"waited {error.retry_after} s")


async def errors(update: Update, context: Context) -> None:
    message, bot, chat = update.message, context.bot, update.effective_chat
    sent = await message.reply_text("the same")
    long = InlineKeyboardMarkup([[InlineKeyboardButton("Long", callback_data="x" * 65)]])
    attempts = {
        "no chat": lambda: bot.send_message(404, "hello"),
        "not modified": lambda: sent.edit_text("the same"),
        "blocked": lambda: bot.send_message(int(context.args[0]), "hello"),
        "entities": lambda: chat.send_message("<b>open", parse_mode=ParseMode.HTML),
        "no message to edit": lambda: bot.edit_message_text("new", chat_id=chat.id, message_id=999_999),
        "no message to delete": lambda: chat.delete_message(999_999),
        "no message to reply to": lambda: chat.send_message("hi", reply_parameters=ReplyParameters(999_999)),
        "too long": lambda: chat.send_message("x" * 4097),
        "no file": lambda: chat.send_photo("nonsense"),
        "button data": lambda: chat.send_message("button", reply_markup=long),
        "old query": lambda: bot.answer_callback_query("1"),
        "revoked token": lambda: bot.get_my_commands(),
        "no method": lambda: bot.do_api_request("noSuchMethod"),
    }
    lines = []
    for name, attempt in attempts.items():
        try:
            await attempt()
            lines.append(f"{name}: none")
        except TelegramError as error:
            lines.append(f"{name}: {type(error).__name__}")
    await message.reply_text("\n".join(lines))


def listed(message: Message) -> str:
    found = message.parse_entities().items()
    return "\n".join(f"{it.type} {it.offset} {it.length} {text}" for it, text in found) or "none"


async def html(update: Update, context: Context) -> None:
    sent = await update.message.reply_html(os.environ["HTML"])
    await update.message.reply_text(listed(sent))


async def markdown(update: Update, context: Context) -> None:
    sent = await update.message.reply_markdown_v2(os.environ["MARKDOWN"])
    await update.message.reply_text(listed(sent))


async def poll(update: Update, context: Context) -> None:
    options = ["Tea", "Coffee", "Both"]
    sent = await update.message.reply_poll(
        "Tea or coffee?", options, is_anonymous=False, allows_multiple_answers=True
    )
    context.bot_data[sent.poll.id] = sent


async def vote(update: Update, context: Context) -> None:
    answer = update.poll_answer
    await answer.user.send_message("voted " + ",".join(map(str, answer.option_ids)))
    sent = context.bot_data.pop(answer.poll_id)
    closed = await sent.stop_poll()
    counts = ",".join(str(option.voter_count) for option in closed.options)
    await answer.user.send_message(f"votes {closed.total_voter_count}: {counts}")


async def reaction(update: Update, context: Context) -> None:
    emoji = "".join(it.emoji for it in update.message_reaction.new_reaction)
    await update.effective_chat.send_message(f"reaction {emoji}")


async def tidy(update: Update, context: Context) -> None:
    chat = update.effective_chat
    one = await chat.send_message("one")
    await one.pin(disable_notification=True)
    forwarded = await one.forward(chat.id)
    copied = await one.copy(chat.id)
    await chat.delete_message(copied.message_id)
    full = await context.bot.get_chat(chat.id)
    origin = forwarded.forward_origin
    await chat.send_message(f"from {origin.type} {origin.sender_user.id}, pinned {full.pinned_message.text}")


async def who(update: Update, context: Context) -> None:
    chat = update.effective_chat
    count = await chat.get_member_count()
    full = await context.bot.get_chat(chat.id)
    member = await chat.get_member(update.effective_user.id)
    await update.message.reply_text(f"{full.title}: {count} people, you are {member.status}", do_quote=True)


async def joined(update: Update, context: Context) -> None:
    names = ", ".join(user.first_name for user in update.message.new_chat_members)
    await update.effective_chat.send_message(f"welcome {names}")


async def left(update: Update, context: Context) -> None:
    await update.effective_chat.send_message(f"goodbye {update.message.left_chat_member.first_name}")


async def standing(update: Update, context: Context) -> None:
    change = update.my_chat_member
    if change.old_chat_member.status == "kicked" and change.new_chat_member.status == "member":
        await change.chat.send_message(f"welcome back {change.from_user.first_name}")


async def edited(update: Update, context: Context) -> None:
    message = update.edited_message
    await message.set_reaction("👌")
    await message.reply_text(f"edited: {message.text}", do_quote=True)


async def any_text(update: Update, context: Context) -> None:
    await update.message.reply_text(listed(update.message))


async def prepare(app: Application) -> None:
    commands = (BotCommand("start", "Begin"), BotCommand("poll", "Vote"))
    await app.bot.set_my_commands(commands)
    assert await app.bot.get_my_commands() == commands


def main() -> None:
    builder = Application.builder().token(os.environ["TOKEN"])
    builder = builder.base_url(f"{API_URL}/bot").base_file_url(f"{API_URL}/file/bot")
    app = builder.post_init(prepare).build()
    app.add_handler(MessageHandler(filters.UpdateType.EDITED_MESSAGE & filters.TEXT, edited))
    for callback in (start, limit, errors, html, poll, tidy, who):
        app.add_handler(CommandHandler(callback.__name__, callback))
    app.add_handler(CommandHandler("contact", ask_contact))
    app.add_handler(CommandHandler("md", markdown))
    app.add_handler(CallbackQueryHandler(choose, pattern="^choice:"))
    app.add_handler(MessageHandler(filters.CONTACT, take_contact))
    app.add_handler(MessageHandler(filters.LOCATION, take_location))
    app.add_handler(MessageHandler(filters.PHOTO, take_photo))
    app.add_handler(MessageHandler(filters.Document.ALL, take_document))
    app.add_handler(MessageHandler(filters.StatusUpdate.NEW_CHAT_MEMBERS, joined))
    app.add_handler(MessageHandler(filters.StatusUpdate.LEFT_CHAT_MEMBER, left))
    app.add_handler(MessageHandler(filters.TEXT & ~filters.COMMAND, any_text))
    app.add_handler(PollAnswerHandler(vote))
    app.add_handler(MessageReactionHandler(reaction))
    app.add_handler(ChatMemberHandler(standing, ChatMemberHandler.MY_CHAT_MEMBER))
    app.run_polling(allowed_updates=Update.ALL_TYPES)


main()
