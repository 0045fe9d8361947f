// The walk in grammY. Polls, or listens for a webhook where SECRET is set.
const { createServer } = require("node:http");
const { setTimeout: sleep } = require("node:timers/promises");

const { hydrateFiles } = require("@grammyjs/files");
const {
  API_CONSTANTS,
  Bot,
  GrammyError,
  InlineKeyboard,
  InputFile,
  InputMediaBuilder,
  Keyboard,
  webhookCallback,
} = require("grammy");

const { API_URL, HTML, MARKDOWN, PICTURE, SECRET, TOKEN } = process.env;
// Over a webhook the chat action travels as the answer to the post.
const canUseWebhookReply = (method) => method === "sendChatAction";
const bot = new Bot(TOKEN, { client: { apiRoot: API_URL, canUseWebhookReply } });
bot.api.config.use(hydrateFiles(TOKEN, { apiRoot: API_URL }));
const polls = new Map();

/** Downloads the file of a message by the link that the library makes for it; its own download speaks HTTPS only. */
async function contentOf(ctx) {
  const response = await fetch((await ctx.getFile()).getUrl());
  return Buffer.from(await response.arrayBuffer());
}

const listed = (message) =>
  (message.entities ?? [])
    .map((it) => `${it.type} ${it.offset} ${it.length} ${message.text.slice(it.offset, it.offset + it.length)}`)
    .join("\n") || "none";

bot.command("start", async (ctx) => {
  await ctx.replyWithChatAction("typing");
  const keyboard = new InlineKeyboard()
    .text("Yes", "choice:yes").text("No", "choice:no").row()
    .url("Site", "https://example.org/");
  await ctx.reply(`Hello, ${ctx.from.first_name}! I am @${ctx.me.username}`, { reply_markup: keyboard });
});

bot.callbackQuery(/^choice:(.+)$/, async (ctx) => {
  await ctx.answerCallbackQuery({ text: `You chose ${ctx.match[1]}`, show_alert: true });
  await ctx.editMessageText(`Chosen: ${ctx.match[1]}`);
});

bot.command("contact", async (ctx) => {
  const keyboard = new Keyboard()
    .requestContact("My phone").row().requestLocation("My place")
    .resized().oneTime().placeholder("Phone");
  await ctx.reply("Share your phone", { reply_markup: keyboard });
});

bot.command("limit", async (ctx) => {
  try {
    await ctx.reply("no limit reached");
  } catch (error) {
    if (!(error instanceof GrammyError) || !error.parameters.retry_after) throw error;
    await sleep(error.parameters.retry_after * 1000);
    await ctx.reply(`waited ${error.parameters.retry_after} s`);
  }
});

bot.command("errors", async (ctx) => {
  const chat = ctx.chat.id;
  const sent = await ctx.reply("the same");
  const attempts = {
    "no chat": () => ctx.api.sendMessage(404, "hello"),
    "not modified": () => ctx.api.editMessageText(chat, sent.message_id, "the same"),
    "blocked": () => ctx.api.sendMessage(ctx.match, "hello"),
    "entities": () => ctx.reply("<b>open", { parse_mode: "HTML" }),
    "no message to edit": () => ctx.api.editMessageText(chat, 999_999, "new"),
    "no message to delete": () => ctx.api.deleteMessage(chat, 999_999),
    "no message to reply to": () => ctx.reply("hi", { reply_parameters: { message_id: 999_999 } }),
    "too long": () => ctx.reply("x".repeat(4097)),
    "no file": () => ctx.replyWithPhoto("nonsense"),
    "button data": () => ctx.reply("button", { reply_markup: new InlineKeyboard().text("Long", "x".repeat(65)) }),
    "old query": () => ctx.api.answerCallbackQuery("1"),
    "revoked token": () => ctx.api.getMyCommands(),
    "no method": () => ctx.api.raw.noSuchMethod({}),
  };
  const lines = [];
  for (const [name, attempt] of Object.entries(attempts)) {
    try {
      await attempt();
      lines.push(`${name}: none`);
    } catch (error) {
      lines.push(`${name}: ${error.constructor.name} ${error.error_code}`);
    }
  }
  await ctx.reply(lines.join("\n"));
});

bot.command("html", async (ctx) => ctx.reply(listed(await ctx.reply(HTML, { parse_mode: "HTML" }))));
bot.command("md", async (ctx) => ctx.reply(listed(await ctx.reply(MARKDOWN, { parse_mode: "MarkdownV2" }))));

bot.command("poll", async (ctx) => {
  const options = { is_anonymous: false, allows_multiple_answers: true };
  const sent = await ctx.replyWithPoll("Tea or coffee?", ["Tea", "Coffee", "Both"], options);
  polls.set(sent.poll.id, sent);
});

bot.on("poll_answer", async (ctx) => {
  const answer = ctx.pollAnswer;
  await ctx.api.sendMessage(answer.user.id, `voted ${answer.option_ids}`);
  const sent = polls.get(answer.poll_id);
  const closed = await ctx.api.stopPoll(sent.chat.id, sent.message_id);
  const counts = closed.options.map((option) => option.voter_count);
  await ctx.api.sendMessage(answer.user.id, `votes ${closed.total_voter_count}: ${counts}`);
});

bot.on("message_reaction", (ctx) => ctx.reply(`reaction ${ctx.reactions().emojiAdded.join("")}`));

bot.command("tidy", async (ctx) => {
  const one = await ctx.reply("one");
  await ctx.pinChatMessage(one.message_id, { disable_notification: true });
  const forwarded = await ctx.api.forwardMessage(ctx.chat.id, ctx.chat.id, one.message_id);
  const copied = await ctx.api.copyMessage(ctx.chat.id, ctx.chat.id, one.message_id);
  await ctx.api.deleteMessage(ctx.chat.id, copied.message_id);
  const chat = await ctx.getChat();
  const origin = forwarded.forward_origin;
  await ctx.reply(`from ${origin.type} ${origin.sender_user.id}, pinned ${chat.pinned_message.text}`);
});

bot.command("who", async (ctx) => {
  const count = await ctx.getChatMemberCount();
  const chat = await ctx.getChat();
  const member = await ctx.getAuthor();
  const quoting = { reply_parameters: { message_id: ctx.msgId } };
  await ctx.reply(`${chat.title}: ${count} people, you are ${member.status}`, quoting);
});

bot.on("message:contact", async (ctx) => {
  const { first_name, phone_number, user_id } = ctx.message.contact;
  const text = `contact ${phone_number} ${first_name} own=${user_id === ctx.from.id}`;
  await ctx.reply(text, { reply_markup: { remove_keyboard: true } });
});

bot.on("message:location", async (ctx) => {
  const { latitude, longitude } = ctx.message.location;
  await ctx.reply(`location ${latitude.toFixed(4)} ${longitude.toFixed(4)}`);
  await ctx.replyWithLocation(latitude, longitude);
});

bot.on("message:photo", async (ctx) => {
  const photo = ctx.message.photo.at(-1);
  const content = await contentOf(ctx);
  await ctx.reply(`photo ${photo.width}x${photo.height} ${content.length} bytes`);
  await ctx.replyWithDocument(new InputFile(content, "same.png"), { caption: "the same bytes" });
  await ctx.replyWithPhoto(new InputFile(PICTURE), { caption: "<b>mine</b>", parse_mode: "HTML" });
  await ctx.replyWithMediaGroup([
    InputMediaBuilder.photo(new InputFile(PICTURE), { caption: "album" }),
    InputMediaBuilder.photo(photo.file_id),
  ]);
});

bot.on("message:document", async (ctx) => {
  const { file_name, mime_type } = ctx.message.document;
  const content = await contentOf(ctx);
  await ctx.reply(`document ${file_name} ${mime_type} ${ctx.message.caption} ${content.length} bytes`);
});

bot.on("message:new_chat_members", (ctx) =>
  ctx.reply(`welcome ${ctx.message.new_chat_members.map((user) => user.first_name).join(", ")}`));
bot.on("message:left_chat_member", (ctx) => ctx.reply(`goodbye ${ctx.message.left_chat_member.first_name}`));

bot.on("my_chat_member", async (ctx) => {
  const { old_chat_member, new_chat_member } = ctx.myChatMember;
  if (old_chat_member.status === "kicked" && new_chat_member.status === "member") {
    await ctx.reply(`welcome back ${ctx.from.first_name}`);
  }
});

bot.on("edited_message:text", async (ctx) => {
  await ctx.react("👌");
  await ctx.reply(`edited: ${ctx.msg.text}`, { reply_parameters: { message_id: ctx.msgId } });
});

bot.on("message:text", (ctx) => ctx.reply(listed(ctx.message)));

function listen() {
  const server = createServer(webhookCallback(bot, "http", { secretToken: SECRET }));
  server.listen(0, "127.0.0.1", async () => {
    const url = `http://127.0.0.1:${server.address().port}/hook`;
    await bot.api.setWebhook(url, { secret_token: SECRET, allowed_updates: API_CONSTANTS.ALL_UPDATE_TYPES });
  });
  process.once("SIGTERM", () => {
    server.close();
    server.closeAllConnections();
  });
}

async function main() {
  const commands = [{ command: "start", description: "Begin" }, { command: "poll", description: "Vote" }];
  await bot.api.setMyCommands(commands);
  const known = await bot.api.getMyCommands();
  if (JSON.stringify(known) !== JSON.stringify(commands)) throw new Error("other commands came back");
  if (SECRET) return listen();
  process.once("SIGTERM", () => bot.stop());
  await bot.start({ allowed_updates: API_CONSTANTS.ALL_UPDATE_TYPES });
}

main();
