"""The walk in aiogram 3. Polls, or listens for a webhook where SECRET is set."""
import asyncio
import os
import signal

from aiohttp import web

from aiogram import Bot, Dispatcher, F, Router
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.enums import ChatAction, ParseMode
from aiogram.exceptions import TelegramAPIError, TelegramRetryAfter
from aiogram.filters import IS_MEMBER, KICKED, ChatMemberUpdatedFilter, Command, CommandObject, CommandStart
from aiogram.methods import TelegramMethod
from aiogram.types import (
    BotCommand,
    BufferedInputFile,
    CallbackQuery,
    ChatMemberUpdated,
    FSInputFile,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    KeyboardButton,
    Message,
    MessageReactionUpdated,
    PollAnswer,
    ReactionTypeEmoji,
    ReplyKeyboardMarkup,
    ReplyKeyboardRemove,
    ReplyParameters,
)
from aiogram.utils.media_group import MediaGroupBuilder
from aiogram.webhook.aiohttp_server import SimpleRequestHandler, setup_application

PICTURE = FSInputFile(os.environ["PICTURE"])

router = Router()
polls: dict[str, Message] = {}


class NoSuchMethod(TelegramMethod[bool]):
    __returning__ = bool
    __api_method__ = "noSuchMethod"


@router.message(CommandStart())
async def start(message: Message, bot: Bot) -> None:
    me = await bot.me()
    await bot.send_chat_action(message.chat.id, ChatAction.TYPING)
    choice = [InlineKeyboardButton(text=word, callback_data=f"choice:{word.lower()}") for word in ("Yes", "No")]
    site = [InlineKeyboardButton(text="Site", url="https://example.org/")]
    keyboard = InlineKeyboardMarkup(inline_keyboard=[choice, site])
    await message.answer(f"Hello, {message.from_user.first_name}! I am @{me.username}", reply_markup=keyboard)


@router.callback_query(F.data.startswith("choice:"))
async def choose(query: CallbackQuery) -> None:
    choice = query.data.removeprefix("choice:")
    await query.answer(f"You chose {choice}", show_alert=True)
    await query.message.edit_text(f"Chosen: {choice}")


@router.message(Command("contact"))
async def ask_contact(message: Message) -> TelegramMethod[Message]:
    phone = KeyboardButton(text="My phone", request_contact=True)
    place = KeyboardButton(text="My place", request_location=True)
    keyboard = ReplyKeyboardMarkup(
        keyboard=[[phone], [place]], resize_keyboard=True, one_time_keyboard=True, input_field_placeholder="Phone"
    )
    # Returned and not awaited: over a webhook it travels as the answer to the post.
    return message.answer("Share your phone", reply_markup=keyboard)


@router.message(F.contact)
async def take_contact(message: Message) -> None:
    contact = message.contact
    own = str(contact.user_id == message.from_user.id).lower()
    text = f"contact {contact.phone_number} {contact.first_name} own={own}"
    await message.answer(text, reply_markup=ReplyKeyboardRemove())


@router.message(F.location)
async def take_location(message: Message) -> None:
    place = message.location
    await message.answer(f"location {place.latitude:.4f} {place.longitude:.4f}")
    await message.answer_location(place.latitude, place.longitude)


@router.message(F.photo)
async def take_photo(message: Message, bot: Bot) -> None:
    photo = message.photo[-1]
    content = (await bot.download(photo)).read()
    await message.answer(f"photo {photo.width}x{photo.height} {len(content)} bytes")
    await message.answer_document(BufferedInputFile(content, "same.png"), caption="the same bytes")
    await message.answer_photo(PICTURE, caption="<b>mine</b>", parse_mode=ParseMode.HTML)
    album = MediaGroupBuilder(caption="album")
    album.add_photo(PICTURE)
    album.add_photo(photo.file_id)
    await message.answer_media_group(album.build())


@router.message(F.document)
async def take_document(message: Message, bot: Bot) -> None:
    document = message.document
    content = (await bot.download(document)).read()
    await message.answer(f"document {document.file_name} {document.mime_type} {message.caption} {len(content)} bytes")


@router.message(Command("limit"))
async def limit(message: Message) -> None:
    try:
        await message.answer("no limit reached")
    except TelegramRetryAfter as error:
        await asyncio.sleep(error.retry_after)
        await message.answer(f"waited {error.retry_after} s")


@router.message(Command("errors"))
async def errors(message: Message, command: CommandObject, bot: Bot) -> None:
    chat = message.chat.id
    sent = await message.answer("the same")
    long = InlineKeyboardMarkup(inline_keyboard=[[InlineKeyboardButton(text="Long", callback_data="x" * 65)]])
    attempts = {
        "no chat": lambda: bot.send_message(404, "hello"),
        "not modified": lambda: sent.edit_text("the same"),
        "blocked": lambda: bot.send_message(int(command.args), "hello"),
        "entities": lambda: message.answer("<b>open", parse_mode=ParseMode.HTML),
        "no message to edit": lambda: bot.edit_message_text("new", chat_id=chat, message_id=999_999),
        "no message to delete": lambda: bot.delete_message(chat, 999_999),
        "no message to reply to": lambda: message.answer("hi", reply_parameters=ReplyParameters(message_id=999_999)),
        "too long": lambda: message.answer("x" * 4097),
        "no file": lambda: message.answer_photo("nonsense"),
        "button data": lambda: message.answer("button", reply_markup=long),
        "old query": lambda: bot.answer_callback_query("1"),
        "revoked token": lambda: bot.get_my_commands(),
        "no method": lambda: bot(NoSuchMethod()),
    }
    lines = []
    for name, attempt in attempts.items():
        try:
            await attempt()
            lines.append(f"{name}: none")
        except TelegramAPIError as error:
            lines.append(f"{name}: {type(error).__name__}")
    await message.answer("\n".join(lines))


def listed(message: Message) -> str:
    found = message.entities or []
    return "\n".join(f"{it.type} {it.offset} {it.length} {it.extract_from(message.text)}" for it in found) or "none"


@router.message(Command("html"))
async def html(message: Message) -> None:
    sent = await message.answer(os.environ["HTML"], parse_mode=ParseMode.HTML)
    await message.answer(listed(sent))


@router.message(Command("md"))
async def markdown(message: Message) -> None:
    sent = await message.answer(os.environ["MARKDOWN"], parse_mode=ParseMode.MARKDOWN_V2)
    await message.answer(listed(sent))


@router.message(Command("poll"))
async def poll(message: Message) -> None:
    options = ["Tea", "Coffee", "Both"]
    sent = await message.answer_poll("Tea or coffee?", options, is_anonymous=False, allows_multiple_answers=True)
    polls[sent.poll.id] = sent


@router.poll_answer()
async def vote(answer: PollAnswer, bot: Bot) -> None:
    await bot.send_message(answer.user.id, "voted " + ",".join(map(str, answer.option_ids)))
    sent = polls.pop(answer.poll_id)
    closed = await bot.stop_poll(sent.chat.id, sent.message_id)
    counts = ",".join(str(option.voter_count) for option in closed.options)
    await bot.send_message(answer.user.id, f"votes {closed.total_voter_count}: {counts}")


@router.message_reaction()
async def reaction(event: MessageReactionUpdated, bot: Bot) -> None:
    emoji = "".join(it.emoji for it in event.new_reaction)
    await bot.send_message(event.chat.id, f"reaction {emoji}")


@router.message(Command("tidy"))
async def tidy(message: Message, bot: Bot) -> None:
    one = await message.answer("one")
    await one.pin(disable_notification=True)
    forwarded = await one.forward(message.chat.id)
    copied = await one.copy_to(message.chat.id)
    await bot.delete_message(message.chat.id, copied.message_id)
    chat = await bot.get_chat(message.chat.id)
    origin = forwarded.forward_origin
    await message.answer(f"from {origin.type} {origin.sender_user.id}, pinned {chat.pinned_message.text}")


@router.message(Command("who"))
async def who(message: Message, bot: Bot) -> None:
    count = await bot.get_chat_member_count(message.chat.id)
    chat = await bot.get_chat(message.chat.id)
    member = await bot.get_chat_member(message.chat.id, message.from_user.id)
    await message.reply(f"{chat.title}: {count} people, you are {member.status}")


@router.message(F.new_chat_members)
async def joined(message: Message) -> None:
    await message.answer("welcome " + ", ".join(user.first_name for user in message.new_chat_members))


@router.message(F.left_chat_member)
async def left(message: Message) -> None:
    await message.answer(f"goodbye {message.left_chat_member.first_name}")


@router.my_chat_member(ChatMemberUpdatedFilter(KICKED >> IS_MEMBER))
async def unblocked(event: ChatMemberUpdated, bot: Bot) -> None:
    await bot.send_message(event.chat.id, f"welcome back {event.from_user.first_name}")


@router.edited_message(F.text)
async def edited(message: Message) -> None:
    await message.react([ReactionTypeEmoji(emoji="👌")])
    await message.reply(f"edited: {message.text}")


@router.message(F.text, ~F.text.startswith("/"))
async def any_text(message: Message) -> None:
    await message.answer(listed(message))


async def listen(dispatcher: Dispatcher, bot: Bot, secret: str) -> None:
    app = web.Application()
    handler = SimpleRequestHandler(dispatcher, bot, handle_in_background=False, secret_token=secret)
    handler.register(app, path="/hook")
    setup_application(app, dispatcher, bot=bot)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0]
    used = dispatcher.resolve_used_update_types()
    await bot.set_webhook(f"http://{host}:{port}/hook", secret_token=secret, allowed_updates=used)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await stop.wait()
    await runner.cleanup()


async def main() -> None:
    session = AiohttpSession(api=TelegramAPIServer.from_base(os.environ["API_URL"]))
    bot = Bot(os.environ["TOKEN"], session=session)
    dispatcher = Dispatcher()
    dispatcher.include_router(router)
    commands = [BotCommand(command="start", description="Begin"), BotCommand(command="poll", description="Vote")]
    await bot.set_my_commands(commands)
    known = await bot.get_my_commands()
    assert [it.model_dump() for it in known] == [it.model_dump() for it in commands]
    if secret := os.environ.get("SECRET"):
        await listen(dispatcher, bot, secret)
    else:
        await dispatcher.start_polling(bot)


asyncio.run(main())
