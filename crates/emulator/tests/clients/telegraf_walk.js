// The walk in Telegraf, by polling.
const { setTimeout: sleep } = require("node:timers/promises");

const { Input, Markup, Telegraf, TelegramError } = require("telegraf");
const { editedMessage, message } = require("telegraf/filters");

const { API_URL, HTML, MARKDOWN, PICTURE, TOKEN } = process.env;
const ALLOWED = ["message", "edited_message", "callback_query", "poll_answer", "message_reaction", "my_chat_member"];
const bot = new Telegraf(TOKEN, { telegram: { apiRoot: API_URL } });
const polls = new Map();

/** Downloads a file by the link that the library makes for it. */
async function contentOf(ctx, fileId) {
  const response = await fetch(await ctx.telegram.getFileLink(fileId));
  return Buffer.from(await response.arrayBuffer());
}

const listed = (message) =>
  (message.entities ?? [])
    .map((it) => `${it.type} ${it.offset} ${it.length} ${message.text.slice(it.offset, it.offset + it.length)}`)
    .join("\n") || "none";

bot.start(async (ctx) => {
  await ctx.sendChatAction("typing");
  const keyboard = Markup.inlineKeyboard([
    [Markup.button.callback("Yes", "choice:yes"), Markup.button.callback("No", "choice:no")],
    [Markup.button.url("Site", "https://example.org/")],
  ]);
  await ctx.reply(`Hello, ${ctx.from.first_name}! I am @${ctx.me}`, keyboard);
});

bot.action(/^choice:(.+)$/, async (ctx) => {
  await ctx.answerCbQuery(`You chose ${ctx.match[1]}`, { show_alert: true });
  await ctx.editMessageText(`Chosen: ${ctx.match[1]}`);
});

bot.command("contact", async (ctx) => {
  const phone = Markup.button.contactRequest("My phone");
  const place = Markup.button.locationRequest("My place");
  await ctx.reply("Share your phone", Markup.keyboard([[phone], [place]]).resize().oneTime().placeholder("Phone"));
});

bot.command("limit", async (ctx) => {
  try {
    await ctx.reply("no limit reached");
  } catch (error) {
    if (!(error instanceof TelegramError) || !error.parameters?.retry_after) throw error;
    await sleep(error.parameters.retry_after * 1000);
    await ctx.reply(`waited ${error.parameters.retry_after} s`);
  }
});

bot.command("errors", async (ctx) => {
  const chat = ctx.chat.id;
  const sent = await ctx.reply("the same");
  const long = Markup.inlineKeyboard([Markup.button.callback("Long", "x".repeat(65))]);
  const attempts = {
    "no chat": () => ctx.telegram.sendMessage(404, "hello"),
    "not modified": () => ctx.telegram.editMessageText(chat, sent.message_id, undefined, "the same"),
    "blocked": () => ctx.telegram.sendMessage(ctx.payload, "hello"),
    "entities": () => ctx.reply("<b>open", { parse_mode: "HTML" }),
    "no message to edit": () => ctx.telegram.editMessageText(chat, 999_999, undefined, "new"),
    "no message to delete": () => ctx.deleteMessage(999_999),
    "no message to reply to": () => ctx.reply("hi", { reply_parameters: { message_id: 999_999 } }),
    "too long": () => ctx.reply("x".repeat(4097)),
    "no file": () => ctx.replyWithPhoto("nonsense"),
    "button data": () => ctx.reply("button", long),
    "old query": () => ctx.telegram.answerCbQuery("1"),
    "revoked token": () => ctx.telegram.getMyCommands(),
    "no method": () => ctx.telegram.callApi("noSuchMethod", {}),
  };
  const lines = [];
  for (const [name, attempt] of Object.entries(attempts)) {
    try {
      await attempt();
      lines.push(`${name}: none`);
    } catch (error) {
      lines.push(`${name}: ${error.constructor.name} ${error.code}`);
    }
  }
  await ctx.reply(lines.join("\n"));
});

bot.command("html", async (ctx) => ctx.reply(listed(await ctx.replyWithHTML(HTML))));
bot.command("md", async (ctx) => ctx.reply(listed(await ctx.replyWithMarkdownV2(MARKDOWN))));

bot.command("poll", async (ctx) => {
  const options = { is_anonymous: false, allows_multiple_answers: true };
  const sent = await ctx.replyWithPoll("Tea or coffee?", ["Tea", "Coffee", "Both"], options);
  polls.set(sent.poll.id, sent);
});

bot.on("poll_answer", async (ctx) => {
  const answer = ctx.pollAnswer;
  await ctx.telegram.sendMessage(answer.user.id, `voted ${answer.option_ids}`);
  const sent = polls.get(answer.poll_id);
  const closed = await ctx.telegram.stopPoll(sent.chat.id, sent.message_id);
  const counts = closed.options.map((option) => option.voter_count);
  await ctx.telegram.sendMessage(answer.user.id, `votes ${closed.total_voter_count}: ${counts}`);
});

bot.on("message_reaction", (ctx) => {
  const { chat, new_reaction } = ctx.messageReaction;
  return ctx.telegram.sendMessage(chat.id, `reaction ${new_reaction.map((it) => it.emoji).join("")}`);
});

bot.command("tidy", async (ctx) => {
  const one = await ctx.reply("one");
  await ctx.pinChatMessage(one.message_id, { disable_notification: true });
  const forwarded = await ctx.telegram.forwardMessage(ctx.chat.id, ctx.chat.id, one.message_id);
  const copied = await ctx.telegram.copyMessage(ctx.chat.id, ctx.chat.id, one.message_id);
  await ctx.deleteMessage(copied.message_id);
  const chat = await ctx.getChat();
  const origin = forwarded.forward_origin;
  await ctx.reply(`from ${origin.type} ${origin.sender_user.id}, pinned ${chat.pinned_message.text}`);
});

bot.command("who", async (ctx) => {
  const count = await ctx.getChatMembersCount();
  const chat = await ctx.getChat();
  const member = await ctx.getChatMember(ctx.from.id);
  const quoting = { reply_parameters: { message_id: ctx.msgId } };
  await ctx.reply(`${chat.title}: ${count} people, you are ${member.status}`, quoting);
});

bot.on(message("contact"), async (ctx) => {
  const { first_name, phone_number, user_id } = ctx.message.contact;
  const text = `contact ${phone_number} ${first_name} own=${user_id === ctx.from.id}`;
  await ctx.reply(text, Markup.removeKeyboard());
});

bot.on(message("location"), async (ctx) => {
  const { latitude, longitude } = ctx.message.location;
  await ctx.reply(`location ${latitude.toFixed(4)} ${longitude.toFixed(4)}`);
  await ctx.replyWithLocation(latitude, longitude);
});

bot.on(message("photo"), async (ctx) => {
  const photo = ctx.message.photo.at(-1);
  const content = await contentOf(ctx, photo.file_id);
  await ctx.reply(`photo ${photo.width}x${photo.height} ${content.length} bytes`);
  await ctx.replyWithDocument(Input.fromBuffer(content, "same.png"), { caption: "the same bytes" });
  await ctx.replyWithPhoto(Input.fromLocalFile(PICTURE), { caption: "<b>mine</b>", parse_mode: "HTML" });
  await ctx.replyWithMediaGroup([
    { type: "photo", media: Input.fromLocalFile(PICTURE), caption: "album" },
    { type: "photo", media: photo.file_id },
  ]);
});

bot.on(message("document"), async (ctx) => {
  const { file_id, file_name, mime_type } = ctx.message.document;
  const content = await contentOf(ctx, file_id);
  await ctx.reply(`document ${file_name} ${mime_type} ${ctx.message.caption} ${content.length} bytes`);
});

bot.on(message("new_chat_members"), (ctx) =>
  ctx.reply(`welcome ${ctx.message.new_chat_members.map((user) => user.first_name).join(", ")}`));
bot.on(message("left_chat_member"), (ctx) => ctx.reply(`goodbye ${ctx.message.left_chat_member.first_name}`));

bot.on("my_chat_member", async (ctx) => {
  const { old_chat_member, new_chat_member } = ctx.myChatMember;
  if (old_chat_member.status === "kicked" && new_chat_member.status === "member") {
    await ctx.reply(`welcome back ${ctx.from.first_name}`);
  }
});

bot.on(editedMessage("text"), async (ctx) => {
  await ctx.react("👌");
  await ctx.reply(`edited: ${ctx.text}`, { reply_parameters: { message_id: ctx.msgId } });
});

bot.on(message("text"), (ctx) => ctx.reply(listed(ctx.message)));

async function main() {
  const commands = [{ command: "start", description: "Begin" }, { command: "poll", description: "Vote" }];
  await bot.telegram.setMyCommands(commands);
  const known = await bot.telegram.getMyCommands();
  if (JSON.stringify(known) !== JSON.stringify(commands)) throw new Error("other commands came back");
  process.once("SIGTERM", () => bot.stop("SIGTERM"));
  await bot.launch({ allowedUpdates: ALLOWED });
}

main();
