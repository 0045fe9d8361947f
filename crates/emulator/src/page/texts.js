// All texts of the page, Russian and English side by side, and the format of times and sizes.
//
// Promise: a text exists in both languages or in none, because it stands in one table. In a text `{name}` is replaced,
// and `{n|one|few|many}` (Russian) or `{n|one|many}` (English) is a number with its noun.

import { note, recall } from "./screen.js";

const TEXTS = {
  // The list
  chats: ["Чаты", "Chats"],
  person: ["Человек", "Person"],
  group: ["Группа", "Group"],
  personDetails: ["Человек с подробностями", "Person with details"],
  sideBySide: ["Чаты рядом", "Chats side by side"],
  oneChat: ["Один чат", "One chat"],
  openBeside: ["Открыть рядом", "Open beside"],
  nothingYet: ["Пока ничего не сказано", "Nothing said yet"],
  you: ["Вы", "You"],
  unread: ["{n|непрочитанное|непрочитанных|непрочитанных}", "{n|unread|unread}"],
  blockedHere: ["Бот заблокирован", "The bot is blocked"],
  noBot: ["нет бота", "no bot"],
  botMenu: ["Боты", "Bots"],
  newBot: ["Новый бот", "New bot"],
  connectBot: ["Как подключить бота", "How to connect a bot"],
  forgetBot: ["Забыть бота", "Forget the bot"],
  forgetWords: [
    "«{name}», все его люди, чаты и файлы будут удалены из эмулятора.",
    "“{name}”, its people, chats and files will be removed from the emulator.",
  ],
  forget: ["Забыть", "Forget"],
  switchLanguage: ["Switch to English", "Переключить на русский"],
  lightTheme: ["Светлая тема", "Light theme"],
  darkTheme: ["Тёмная тема", "Dark theme"],
  inspector: ["Инспектор", "Inspector"],

  // The tour
  tour: ["Знакомство", "Tour"],
  tourStep: ["Шаг {n} из {of}", "Step {n} of {of}"],
  tourNext: ["Дальше", "Next"],
  tourBack: ["Предыдущий шаг", "Previous step"],
  tourDone: ["Готово", "Done"],
  tourClose: ["Закрыть знакомство", "Close the tour"],
  tourChat: ["Открыть чат", "Open the chat"],
  tourAgain: ["Показать знакомство", "Show the tour"],

  // The chat
  messages: ["Сообщения", "Messages"],
  backToList: ["К списку чатов", "Back to chats"],
  chatMenu: ["Действия с чатом", "Chat actions"],
  closeColumn: ["Закрыть чат", "Close this chat"],
  members: ["{n|участник|участника|участников}", "{n|member|members}"],
  pinned: ["Закреплённое сообщение", "Pinned message"],
  topics: ["Темы", "Topics"],
  allTopics: ["Все темы", "All topics"],
  generalTopic: ["Общая", "General"],
  newTopic: ["Новая тема", "New topic"],
  topicName: ["Название темы", "Topic name"],
  toEnd: ["К последним сообщениям", "To the latest messages"],
  showEarlier: ["Показать раньше ({n})", "Show earlier ({n})"],
  emptyPrivate: [
    "Нажмите «Запустить», чтобы начать разговор с ботом.",
    "Press “Start” to begin the conversation with the bot.",
  ],
  emptyGroup: [
    "Здесь пока тихо. Напишите что-нибудь от имени участника.",
    "It is quiet here. Write something as one of the members.",
  ],
  start: ["Запустить", "Start"],
  today: ["Сегодня", "Today"],
  yesterday: ["Вчера", "Yesterday"],
  edited: ["изменено", "edited"],
  delivered: ["Бот получил", "The bot has it"],
  waitsForBot: ["Ждёт, пока бот заберёт", "Waits for the bot to fetch it"],
  messageMenu: ["Действия с сообщением", "Message actions"],
  messageGone: ["Сообщение удалено", "The message was deleted"],
  goToOriginal: ["К исходному сообщению", "Go to the original message"],
  forwardedFrom: ["Переслано от", "Forwarded from"],
  reply: ["Ответить", "Reply"],
  edit: ["Изменить", "Edit"],
  copyWords: ["Копировать текст", "Copy text"],
  copyJson: ["Копировать JSON", "Copy JSON"],
  copyId: ["Копировать id {id}", "Copy id {id}"],
  block: ["Заблокировать бота", "Block the bot"],
  unblock: ["Разблокировать бота", "Unblock the bot"],
  unblockBot: ["Бот заблокирован · разблокировать", "The bot is blocked · unblock"],
  joinAs: ["Добавить: {name}", "Add {name}"],
  leaveAs: ["Выйти: {name}", "{name} leaves"],
  noAnswer: ["Бот не ответил на нажатие", "The bot has not answered the press"],
  botOpensLink: ["Бот предлагает открыть ссылку", "The bot asks to open a link"],

  // The composer
  writeMessage: ["Сообщение", "Message"],
  send: ["Отправить", "Send"],
  attach: ["Прикрепить", "Attach"],
  attachPhoto: ["Фото или видео", "Photo or video"],
  attachFile: ["Файл", "File"],
  attachVoice: ["Голосовое (аудиофайл)", "Voice (an audio file)"],
  attachContact: ["Контакт", "Contact"],
  attachLocation: ["Геопозиция", "Location"],
  dropHere: ["Отпустите, чтобы отправить", "Drop to send"],
  commands: ["Команды", "Commands"],
  buttons: ["Кнопки сообщения", "Message buttons"],
  replyKeyboard: ["Клавиатура бота", "Bot keyboard"],
  notHere: ["{kind}: работает только в Telegram", "{kind}: works in Telegram only"],
  editing: ["Изменение сообщения", "Editing"],
  writeAs: ["Пишет", "Write as"],
  emptyGroup: [
    "В группе нет людей: добавьте их через меню чата.",
    "The group has no people yet: add them through the chat menu.",
  ],

  // Forms
  add: ["Добавить", "Add"],
  create: ["Создать", "Create"],
  share: ["Отправить", "Share"],
  cancel: ["Отмена", "Cancel"],
  close: ["Закрыть", "Close"],
  remove: ["Убрать", "Remove"],
  ok: ["Хорошо", "OK"],
  copy: ["Копировать", "Copy"],
  copied: ["Скопировано", "Copied"],
  newPerson: ["Новый человек", "New person"],
  personNumber: ["Человек {n}", "Person {n}"],
  firstName: ["Имя", "First name"],
  lastName: ["Фамилия", "Last name"],
  username: ["Имя пользователя, без @", "Username, without @"],
  language: ["Язык", "Language"],
  newGroup: ["Новая группа", "New group"],
  groupName: ["Наша команда", "Our team"],
  groupTitle: ["Название", "Title"],
  groupMembers: ["Участники", "Members"],
  noPeopleYet: ["Людей пока нет.", "There are no people yet."],
  withTopics: ["С темами (форум)", "With topics (a forum)"],
  topicsHint: ["По одной на строке", "One per line"],
  shareContact: ["Отправить номер телефона?", "Share your phone number?"],
  shareContactWords: ["Бот «{bot}» узнает этот номер.", "The bot “{bot}” will learn this number."],
  whoseContact: ["Чей контакт", "Whose contact"],
  contactOutside: ["Кто-то не из Telegram", "Someone not on Telegram"],
  contactName: ["Ольга", "Olivia"],
  myContact: ["{name} (свой)", "{name} (own)"],
  phone: ["Телефон", "Phone"],
  shareLocation: ["Отправить геопозицию", "Share a location"],
  places: ["Готовые места", "Ready-made places"],
  latitude: ["Широта", "Latitude"],
  longitude: ["Долгота", "Longitude"],
  placeMoscow: ["Москва", "Moscow"],
  placePetersburg: ["Санкт-Петербург", "St Petersburg"],
  placeKazan: ["Казань", "Kazan"],
  placeLondon: ["Лондон", "London"],
  placeNewYork: ["Нью-Йорк", "New York"],

  // Contents of messages
  hiddenText: ["Скрытый текст, нажмите, чтобы показать", "Hidden text, press to reveal"],
  showAll: ["Показать полностью", "Show all"],
  showLess: ["Свернуть", "Show less"],
  customEmoji: ["Особый эмодзи {id}", "Custom emoji {id}"],
  openPhoto: ["Открыть фото", "Open the photo"],
  playVideo: ["Смотреть видео", "Play the video"],
  viewer: ["Просмотр", "Viewer"],
  play: ["Слушать", "Play"],
  pause: ["Пауза", "Pause"],
  position: ["Место в записи", "Position"],
  cannotLoad: ["Не загрузилось", "Could not be loaded"],
  cannotPlay: ["Не воспроизводится", "Cannot be played"],
  kindPhoto: ["Фото", "Photo"],
  kindVideo: ["Видео", "Video"],
  kindVideoNote: ["Видеосообщение", "Video message"],
  kindAnimation: ["GIF", "GIF"],
  kindVoice: ["Голосовое сообщение", "Voice message"],
  kindAudio: ["Аудио", "Audio"],
  kindSticker: ["Стикер", "Sticker"],
  kindDocument: ["Файл", "File"],
  kindLocation: ["Геопозиция", "Location"],
  kindPaidMedia: ["Платные медиа", "Paid media"],
  kindStory: ["История", "Story"],
  liveLocation: ["Трансляция геопозиции", "Live location"],
  unsupported: ["Это сообщение здесь не показывается", "This message is not shown here"],
  pollAnonymous: ["Анонимный опрос", "Anonymous poll"],
  pollPublic: ["Открытый опрос", "Public poll"],
  pollQuiz: ["викторина", "quiz"],
  pollClosed: ["Опрос завершён", "Final results"],
  vote: ["Голосовать", "Vote"],
  retractVote: ["Отозвать голос", "Retract vote"],
  votes: ["{n|голос|голоса|голосов}", "{n|vote|votes}"],
  someone: ["Кто-то", "Someone"],

  // Service messages
  serviceJoined: ["{who} теперь в группе", "{who} joined the group"],
  serviceAdded: ["{who} добавляет: {whom}", "{who} added {whom}"],
  serviceLeft: ["{who} покидает группу", "{who} left the group"],
  serviceRemoved: ["{who} удаляет: {whom}", "{who} removed {whom}"],
  serviceTitle: ["{who}: новое название группы — «{title}»", "{who} changed the group name to “{title}”"],
  servicePhoto: ["{who}: новое фото группы", "{who} changed the group photo"],
  servicePhotoRemoved: ["{who}: фото группы удалено", "{who} removed the group photo"],
  serviceGroup: ["{who}: группа создана", "{who} created the group"],
  servicePinned: ["{who} закрепляет: «{what}»", "{who} pinned “{what}”"],
  serviceTopic: ["{who}: новая тема «{title}»", "{who} created the topic “{title}”"],
  serviceTopicEdited: ["{who} изменяет тему {title}", "{who} changed the topic {title}"],
  serviceTopicClosed: ["Тема закрыта", "The topic was closed"],
  serviceTopicReopened: ["Тема снова открыта", "The topic was reopened"],
  serviceGeneralHidden: ["Общая тема скрыта", "The general topic was hidden"],
  serviceGeneralShown: ["Общая тема показана", "The general topic was shown"],
  serviceMigrated: ["Группа стала супергруппой", "The group became a supergroup"],
  servicePaid: ["Оплачено: {sum}", "Paid: {sum}"],
  serviceRefunded: ["Возвращено: {sum}", "Refunded: {sum}"],
  serviceShared: ["Выбор отправлен боту", "The choice was shared with the bot"],
  serviceAppData: ["Данные из приложения «{title}»", "Data from the app “{title}”"],
  serviceTimer: ["Изменено автоудаление", "Auto-delete was changed"],
  serviceWriteAccess: ["Боту разрешено писать", "The bot may write now"],
  serviceBoost: ["Группа получила буст", "The group was boosted"],

  // What the bot is doing
  action_typing: ["печатает…", "typing…"],
  action_upload_photo: ["отправляет фото…", "sending a photo…"],
  action_record_video: ["записывает видео…", "recording a video…"],
  action_upload_video: ["отправляет видео…", "sending a video…"],
  action_record_voice: ["записывает голосовое…", "recording a voice message…"],
  action_upload_voice: ["отправляет голосовое…", "sending a voice message…"],
  action_upload_document: ["отправляет файл…", "sending a file…"],
  action_choose_sticker: ["выбирает стикер…", "choosing a sticker…"],
  action_find_location: ["ищет место…", "finding a location…"],
  action_record_video_note: ["записывает видеосообщение…", "recording a video message…"],
  action_upload_video_note: ["отправляет видеосообщение…", "sending a video message…"],

  // First steps
  welcomeTitle: ["Проверьте бота до Telegram", "Try your bot before Telegram does"],
  welcomeWords: [
    "Здесь бот разговаривает с людьми, которых создаёте вы. Ни одно сообщение не уходит наружу.",
    "Here a bot talks to people you make up. Not one message leaves this machine.",
  ],
  stepConnect: ["Направьте бота сюда", "Point your bot here"],
  stepConnectWords: [
    "Адрес Bot API — этот сервер. Токен — любой, похожий на настоящий.",
    "The Bot API address is this server. Any token that looks like a real one will do.",
  ],
  stepToken: ["Или создайте бота по токену", "Or make a bot by its token"],
  tokenHint: [
    "Цифры, двоеточие и около 35 знаков. Этот уже годится.",
    "Digits, a colon and about 35 characters. This one will do.",
  ],
  token: ["Токен", "Token"],
  createBot: ["Создать бота", "Make the bot"],
  stepWait: ["Дальше — само", "The rest happens by itself"],
  stepWaitWords: [
    "Как только бот сделает первый запрос, он появится на этой странице.",
    "As soon as the bot makes its first request it appears on this page.",
  ],
  library: ["Библиотека", "Library"],
  environment: ["Переменные", "Environment"],
  noPeopleTitle: ["Кто напишет боту?", "Who will write to the bot?"],
  noPeopleWords: [
    "Добавьте человека: у него будет своё имя, язык и чат с ботом.",
    "Add a person, with a name, a language and a chat with the bot.",
  ],
  addFirstPerson: ["Добавить человека", "Add a person"],
  chooseChat: ["Выберите чат", "Choose a chat"],
  chooseChatWords: ["Каждый чат — как телефон отдельного человека.", "Each chat is like one person's phone."],
  unreachable: ["Сервер не отвечает", "The server does not answer"],
  offline: ["Нет связи с сервером, переподключаемся…", "The connection is lost, reconnecting…"],
  cannotStart: ["Сервер не отвечает", "The server does not answer"],
  tryAgain: ["Попробовать снова", "Try again"],

  // The inspector
  record: ["Запросы и обновления", "Calls and updates"],
  searchRecord: ["Поиск: метод, текст, id", "Search: method, text, id"],
  filters: ["Отбор", "Filters"],
  calls: ["Запросы", "Calls"],
  updates: ["Обновления", "Updates"],
  errors: ["Ошибки", "Errors"],
  complaints: ["Замечания", "Complaints"],
  emptyPolls: ["Пустые опросы", "Empty polls"],
  emptyPollsHint: ["getUpdates, на которые не было обновлений", "getUpdates that brought no updates"],
  clearRecord: ["Очистить список", "Clear the list"],
  nothingRecorded: [
    "Здесь появятся запросы бота и обновления для него.",
    "Calls of the bot and updates for it will appear here.",
  ],
  nothingFound: ["Ничего не найдено", "Nothing found"],
  fromBot: ["Запрос бота", "Call of the bot"],
  toBot: ["Обновление для бота", "Update for the bot"],
  byFault: ["Вызвано сбоем", "Caused by a fault"],
  cutShort: ["обрыв", "cut"],
  queued: ["в очереди", "queued"],
  failed: ["не доставлено", "failed"],
  parameters: ["Параметры", "Parameters"],
  answer: ["Ответ", "Answer"],
  update: ["Обновление", "Update"],
  deliveries: ["Доставка", "Deliveries"],
  replay: ["Доставить ещё раз", "Deliver again"],
  replayHint: ["То же обновление с тем же update_id", "The same update with the same update_id"],
  replayed: ["Доставлено ещё раз", "Delivered again"],
  clock: ["Часы эмулятора", "Emulator clock"],
  plusMinute: ["+1 мин", "+1 min"],
  plusHour: ["+1 ч", "+1 h"],
  plusDay: ["+1 день", "+1 day"],
  advanceBy: ["Перевести вперёд на, секунд", "Advance by, seconds"],
  advance: ["Перевести", "Advance"],

  // Faults
  faults: ["Сбои", "Faults"],
  injectFault: ["Устроить сбой", "Inject a fault"],
  inject: ["Включить", "Switch on"],
  clearAll: ["Убрать все", "Clear all"],
  presets: ["Готовые случаи", "Ready-made cases"],
  faultLeft: ["Сколько раз ещё", "How many times more"],
  anyMethod: ["любой метод", "any method"],
  anyChat: ["любой чат", "any chat"],
  faultOfCall: ["Запрос", "A call"],
  faultOfUpdates: ["Обновления", "Updates"],
  faultTooMany: ["429: слишком часто", "429: too many requests"],
  faultServer: ["500: сбой сервера", "500: server error"],
  faultBlocked: ["403: бот заблокирован", "403: bot blocked"],
  faultCutBefore: ["Обрыв до отправки", "Cut before it is done"],
  faultCutAfter: ["Ответ потерян", "Answer lost"],
  faultSlow: ["Медленная сеть", "Slow network"],
  faultTwice: ["Обновление дважды", "Update twice"],
  faultReorder: ["Не по порядку", "Out of order"],
  faultLate: ["С опозданием", "Late"],
  faultRestart: ["Новый отсчёт update_id", "update_id starts over"],
  field_kind: ["Что сломать", "What to break"],
  field_method: ["Метод", "Method"],
  field_chat_id: ["Чат", "Chat"],
  field_status: ["Код ошибки", "Error code"],
  field_description: ["Описание ошибки", "Error description"],
  field_retry_after: ["retry_after, секунд", "retry_after, seconds"],
  field_delay_ms: ["Задержка, мс", "Delay, ms"],
  field_cut: ["Обрыв связи", "Cut the connection"],
  field_updates: ["Обновления", "Updates"],
  field_times: ["Сколько раз", "How many times"],
  cut_none: ["нет", "no"],
  cut_before: ["до выполнения", "before it is done"],
  cut_after: ["после выполнения", "after it is done"],
  updates_duplicate: ["дважды", "twice"],
  updates_reorder: ["не по порядку", "out of order"],
  updates_delay: ["с опозданием", "late"],
  updates_restart_ids: ["новый отсчёт update_id", "update_id starts over"],
};

/** People ready to be added with one click. */
export const PEOPLE = {
  ru: [
    { first_name: "Анна", last_name: "Смирнова", username: "anna_smirnova" },
    { first_name: "Борис", last_name: "Кузнецов", username: "boris_k" },
    { first_name: "Вера" },
    { first_name: "Григорий", last_name: "Орлов" },
    { first_name: "Дарья", last_name: "Волкова", username: "dasha_v" },
    { first_name: "Егор" },
    { first_name: "Жанна", last_name: "Лебедева", username: "zhanna_l" },
    { first_name: "Захар", last_name: "Попов" },
  ],
  en: [
    { first_name: "Alice", last_name: "Brown", username: "alice_brown" },
    { first_name: "Ben", last_name: "Carter", username: "ben_carter" },
    { first_name: "Clara" },
    { first_name: "David", last_name: "Evans" },
    { first_name: "Emma", last_name: "Fisher", username: "emma_fisher" },
    { first_name: "Frank" },
    { first_name: "Grace", last_name: "Hill", username: "grace_hill" },
    { first_name: "Henry", last_name: "Irving" },
  ],
};

export const PLACES = [
  { name: "placeMoscow", latitude: 55.75222, longitude: 37.61556 },
  { name: "placePetersburg", latitude: 59.93863, longitude: 30.31413 },
  { name: "placeKazan", latitude: 55.78874, longitude: 49.12214 },
  { name: "placeLondon", latitude: 51.50853, longitude: -0.12574 },
  { name: "placeNewYork", latitude: 40.71427, longitude: -74.00597 },
];

export const LANGUAGE_CODES = [
  "ru",
  "en",
  "uk",
  "kk",
  "uz",
  "ky",
  "tg",
  "be",
  "az",
  "hy",
  "ka",
  "tr",
  "de",
  "es",
  "fr",
  "it",
  "pt-br",
  "ar",
  "zh-hans",
];

const LANGUAGES = ["ru", "en"];
// The language chosen on the page, else the server's setting, else the browser's language.
const wished = [recall("language"), document.documentElement.dataset.language].find((one) => LANGUAGES.includes(one));
let current = wished ?? (/^(ru|be|uk|kk)\b/i.test(navigator.language) ? "ru" : "en");
let redraw = () => {};
document.documentElement.lang = current;

export const language = () => current;

/** Called after the language was switched. */
export function onLanguage(listener) {
  redraw = listener;
}

export function setLanguage(chosen) {
  current = LANGUAGES.includes(chosen) ? chosen : "en";
  note("language", current);
  document.documentElement.lang = current;
  redraw();
}

/** A text by its name; "" for a name that does not exist, so that callers can fall back. */
export function t(name, values = {}) {
  const text = TEXTS[name]?.[LANGUAGES.indexOf(current)] ?? "";
  return text.replace(/\{(\w+)((?:\|[^|}]*)*)\}/g, (whole, key, forms) => {
    const value = values[key] ?? "";
    return forms ? `${value} ${nounOf(Number(value), forms.slice(1).split("|"))}` : String(value);
  });
}

function nounOf(count, forms) {
  const rule = new Intl.PluralRules(current).select(count);
  const place = { one: 0, few: 1 }[rule] ?? forms.length - 1;
  return forms[Math.min(place, forms.length - 1)];
}

const written = (date, options) => new Intl.DateTimeFormat(current === "ru" ? "ru-RU" : "en-GB", options).format(date);
const ofUnix = (seconds) => new Date((seconds ?? 0) * 1000);

export const clockTime = (unix) => written(ofUnix(unix), { hour: "2-digit", minute: "2-digit" });
export const moment = (unix) =>
  written(ofUnix(unix), { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
export const dayKey = (unix) => ofUnix(unix).toDateString();

export function exactTime(unixMs) {
  return written(new Date(unixMs ?? 0), { hour: "2-digit", minute: "2-digit", second: "2-digit" });
}

export function day(unix) {
  const key = dayKey(unix);
  if (key === new Date().toDateString()) return t("today");
  if (key === new Date(Date.now() - 86_400_000).toDateString()) return t("yesterday");
  const isThisYear = ofUnix(unix).getFullYear() === new Date().getFullYear();
  return written(ofUnix(unix), { day: "numeric", month: "long", year: isThisYear ? undefined : "numeric" });
}

/** The time for the list of chats: hours today, a date before. */
export function listTime(unix) {
  if (dayKey(unix) === new Date().toDateString()) return clockTime(unix);
  return written(ofUnix(unix), { day: "numeric", month: "short" });
}

export function duration(seconds) {
  const whole = Math.max(0, Math.round(seconds ?? 0));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

export function bytes(count) {
  if (count === undefined || count === null) return "";
  const units = current === "ru" ? ["Б", "КБ", "МБ", "ГБ"] : ["B", "KB", "MB", "GB"];
  const power = count > 0 ? Math.min(3, Math.floor(Math.log(count) / Math.log(1024))) : 0;
  const value = count / 1024 ** power;
  return `${value.toLocaleString(current, { maximumFractionDigits: power ? 1 : 0 })} ${units[power]}`;
}

export function languageName(code) {
  if (!code) return "";
  try {
    return new Intl.DisplayNames(current, { type: "language" }).of(code) ?? code;
  } catch {
    return code;
  }
}
