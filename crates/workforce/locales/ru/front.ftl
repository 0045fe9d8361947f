# Вход: главное меню и то, о чём может спросить каждый.
front-menu = { $name }, что будем делать?
front-menu-empty = Здравствуйте, { $name }. Для вашей роли здесь пока ничего нет. Новое появится в этом меню.
front-newcomer = Здравствуйте! Мы ещё не знакомы. Попросите менеджера добавить вас: ваш ID в Telegram — { $id }.
front-newcomer-may-register = Здравствуйте! Мы ещё не знакомы. Чтобы зарегистрироваться, отправьте /start.
front-pending = Ваша заявка на проверке. Напишу, как только её рассмотрят.
front-rejected = Вашу заявку отклонили. Обратитесь, пожалуйста, к менеджеру.
front-blocked = Ваш доступ закрыт. Если это ошибка, обратитесь, пожалуйста, к менеджеру.
front-not-understood = Не понимаю. Посмотрите в меню, что я умею.
front-keys-away = Хорошо.
front-language = На каком языке вам удобнее?
front-language-is = Теперь говорим по-русски.
front-language-for-now = Пока вы не зарегистрированы, язык берётся из вашего Telegram.
front-help =
    Я помощник вашей команды.

    /start — главное меню
    /cabinet — ссылка для входа в кабинет
    /language — сменить язык
    /quiet — когда не беспокоить
    /summary — итоги дня, для владельцев
    /cancel — прервать текущее действие
    /me — ваш ID и роли
    /help — этот список
front-me = Ваш ID в Telegram: { $id }
front-me-known =
    { $name }
    Ваш ID в Telegram: { $id }
    Роли: { $roles }
front-no-roles = нет
front-me-owner = Итоги дня: /summary

role-applicant = соискатель
role-employee = сотрудник
role-master = мастер
role-dispatcher = диспетчер
role-manager = менеджер
role-owner = владелец
role-superadmin = главный администратор

front-start-command = Главное меню
front-cabinet-button = 🖥 Кабинет
front-cabinet-command = Войти в кабинет
front-language-command = Сменить язык
front-cancel-command = Прервать текущее действие
front-me-command = Мой ID и роли
front-quiet-command = Тихие часы
front-summary-command = Итоги дня, для владельцев
front-help-command = Помощь

front-too-many-toast = Слишком много запросов подряд. Подождите немного и попробуйте снова через { $seconds } с.

# Говорится в группе, где ответ видят все.
front-privately-toast = Здесь нас читают другие. Напишите мне, пожалуйста, в личные сообщения.
front-privately-button = ✉️ Написать лично
