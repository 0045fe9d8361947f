# Вход: главное меню и то, о чём может спросить каждый.
front-menu = { $name }, что будем делать?
front-menu-empty = Здравствуйте, { $name }. Для вашей роли здесь пока ничего нет; новое появится в этом меню.
front-newcomer = Здравствуйте! Мы ещё не знакомы. Попросите руководителя добавить вас: ваш номер в Telegram — { $id }.
front-newcomer-may-register = Здравствуйте! Мы ещё не знакомы. Команда /start начнёт регистрацию.
front-pending = Ваша заявка на проверке. Я напишу, как только её рассмотрят.
front-rejected = Ваша заявка отклонена. Обратитесь, пожалуйста, к руководителю.
front-blocked = Ваш доступ закрыт. Если это ошибка, обратитесь, пожалуйста, к руководителю.
front-not-understood = Не понял вас. В меню видно, что я умею.
front-keys-away = Хорошо.
front-language = На каком языке мне говорить?
front-language-is = Теперь я говорю с вами по-русски.
front-language-for-now = Пока вы не зарегистрированы, я беру язык из вашего Telegram.
front-help =
    Я помощник вашей команды.

    /start – главное меню
    /cabinet – ссылка для входа в кабинет
    /language – сменить язык
    /cancel – прервать то, что делаем
    /me – ваш номер и роли
    /help – этот список
front-me = Ваш номер в Telegram: { $id }
front-me-known =
    { $name }
    Ваш номер в Telegram: { $id }
    Роли: { $roles }
front-no-roles = нет

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
front-language-command = Язык
front-cancel-command = Прервать то, что делаем
front-me-command = Мой номер и роли
front-help-command = Помощь

front-too-many-toast = Слишком много запросов подряд. Подождите немного: я снова буду слушать через { $seconds } с.

# Говорится в группе, где ответ видят все.
front-privately-toast = Здесь нас читают другие. Напишите мне, пожалуйста, в личные сообщения.
front-privately-button = ✉️ Написать лично
