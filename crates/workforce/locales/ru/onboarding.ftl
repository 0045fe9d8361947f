# Анкета и вопросы ответственному.
onboarding-begin-button = 📝 Анкета
onboarding-offer = Для новых сотрудников есть короткая анкета. Она займёт несколько минут, и прерваться можно в любой момент.
onboarding-consent = { $count ->
        [one] Я хочу задать вам { $count } вопрос.
        [few] Я хочу задать вам { $count } вопроса.
       *[many] Я хочу задать вам { $count } вопросов.
    } Ответы сохраняются, их видит владелец. Некоторые вопросы можно пропустить, а анкету — прервать и продолжить позже. Вы согласны?
onboarding-agree-button = Согласен
onboarding-decline-button = Нет, спасибо
onboarding-declined = Хорошо, спрашивать не буду. Если передумаете, анкета есть в меню.
onboarding-go-on = Продолжим с того места, где остановились.
onboarding-over = Эта анкета больше не открыта.
onboarding-paused = Сделали паузу. Все ответы сохранены; продолжите, когда будет удобно.
onboarding-timed-out = Я отложил анкету. Все ответы сохранены: нажмите кнопку или просто напишите мне, и мы продолжим.
onboarding-undecided = Вы пока не решили. Анкета ждёт, когда вам будет удобно.
onboarding-waiting-toast = Вопрос ждёт вашего ответа.
onboarding-back-button = ← Назад
onboarding-keep-button = Оставить так →
onboarding-skip-button = Пропустить
onboarding-pause-button = ⏸ Пауза
onboarding-text-hint = Ответьте, пожалуйста, словами: не больше { $count } знаков.
onboarding-number-hint = Нужно целое число от { $min } до { $max }.
onboarding-button-hint = Выберите, пожалуйста, одну из кнопок.
onboarding-summary = Спасибо, это всё! Ваши ответы:
onboarding-skipped = (пропущено)
onboarding-done = Анкета заполнена. Если у вас самих есть вопрос, задайте его здесь.

chat-open-button = 💬 Задать вопрос
chat-close-button = Завершить разговор
chat-reply-button = Ответить
chat-open = Напишите вопрос: я передам его ответственному и принесу ответ сюда.
chat-write-toast = Просто напишите вопрос.
chat-sent = Передано: { $name }.
chat-nobody = Сейчас некому передать вопрос. Попробуйте, пожалуйста, позже.
chat-too-long = Напишите, пожалуйста, не больше { $count } знаков.
chat-question = { $name } пишет:
chat-answer = Напишите ответ: { $name } его получит. Передумали — /cancel.
chat-answer-from = { $name } отвечает:
chat-write-answer-toast = Просто напишите ответ.
chat-closed = Разговор завершён.
chat-closed-by = Разговор завершён: { $name }.
chat-closed-toast = Этот разговор уже завершён.
chat-timed-out = Я отложил наш разговор. Ответ всё равно придёт сюда.
chat-answer-timed-out = Вы ещё не ответили. Вопрос остаётся открытым.

# Страницы.
onboarding-section = Анкета
onboarding-not-begun = Ещё не начата.
onboarding-earlier = Прежняя анкета
onboarding-answered = Ответов: { $answered } из { $all }
onboarding-status-active = заполняется
onboarding-status-paused = на паузе
onboarding-status-completed = заполнена
onboarding-status-declined = отказ
