# Анкета и вопросы ответственному.
onboarding-begin-button = 📝 Анкета
onboarding-offer = Заполните короткую анкету для новых сотрудников. Она займёт несколько минут, прерваться можно в любой момент.
onboarding-consent = { $count ->
        [one] В анкете { $count } вопрос.
        [few] В анкете { $count } вопроса.
       *[many] В анкете { $count } вопросов.
    } Ответы сохранятся, их увидит владелец. Некоторые вопросы можно пропустить, а анкету — прервать и продолжить позже. Даёте согласие на это?
onboarding-agree-button = Даю согласие
onboarding-decline-button = Нет, спасибо
onboarding-declined = Хорошо, без анкеты. Если передумаете, она есть в меню.
onboarding-go-on = Продолжим с того места, где остановились.
onboarding-over = Эта анкета уже закрыта.
onboarding-paused = Сделали паузу. Все ответы сохранены; продолжите, когда будет удобно.
onboarding-timed-out = Отложили анкету. Все ответы сохранены: нажмите кнопку или просто напишите, и продолжим.
onboarding-undecided = Анкета подождёт. Заполните её, когда будет удобно.
onboarding-waiting-toast = Вопрос ждёт вашего ответа.
onboarding-back-button = ← Назад
onboarding-keep-button = Оставить так →
onboarding-skip-button = Пропустить
onboarding-pause-button = ⏸ Пауза
onboarding-text-hint = Ответьте, пожалуйста, текстом: не больше { $count } знаков.
onboarding-number-hint = Напишите целое число от { $min } до { $max }.
onboarding-button-hint = Нажмите, пожалуйста, одну из кнопок.
onboarding-summary = Спасибо, это всё! Ваши ответы:
onboarding-skipped = (пропущено)
onboarding-done = Анкета заполнена. Если у вас есть вопрос, задайте его здесь.

chat-open-button = 💬 Задать вопрос
chat-close-button = Завершить разговор
chat-reply-button = Ответить
chat-open = Напишите вопрос: передам его ответственному и пришлю ответ сюда.
chat-write-toast = Просто напишите вопрос.
chat-sent = Вопрос получит { $name }.
chat-no-one-available = Сейчас некому ответить. Попробуйте, пожалуйста, позже.
chat-too-long = Напишите, пожалуйста, не больше { $count } знаков.
chat-question = { $name } пишет:
chat-answer = Напишите ответ: его получит { $name }.
chat-answer-from = { $name } отвечает:
chat-write-answer-toast = Просто напишите ответ.
chat-closed = Разговор завершён.
chat-closed-by = { $name } завершает разговор.
chat-closed-toast = Этот разговор уже завершён.
chat-left = Хорошо, вопрос не отправлен.
chat-left-open = Хорошо. Разговор остаётся открытым: ответ придёт сюда.
chat-timed-out = Отложили разговор. Ответ всё равно придёт сюда.
chat-answer-timed-out = Вы ещё не ответили. Вопрос остаётся открытым.

# Страницы.
onboarding-section = Анкета
onboarding-not-begun = Ещё не начата.
onboarding-earlier = Прежняя анкета
onboarding-answered = Ответов: { $answered } из { $all }
onboarding-skipped-count = { $count ->
    [one] { $count } вопрос пропущен
    [few] { $count } вопроса пропущено
   *[many] { $count } вопросов пропущено
}
onboarding-status-active = заполняется
onboarding-status-paused = на паузе
onboarding-status-completed = заполнена
onboarding-status-declined = отказ
