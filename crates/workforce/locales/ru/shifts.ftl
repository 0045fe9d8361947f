# Смены: запись, открытие, задачи, закрытие, отмена.
shifts-plan-button = 🗓 Записаться на смену
shifts-mine-button = 📅 Мои смены
shifts-open-button = ▶️ Открыть смену
shifts-tasks-button = ✅ Мои задачи
shifts-close-button = ⏹ Закрыть смену
shifts-open-site-button = 🔓 Открыть объект
shifts-close-site-button = 🔒 Закрыть объект
shifts-page-before-button = ◂ Предыдущие
shifts-page-after-button = Ещё ▸
shifts-skip-button = Пропустить
shifts-back-said = Вернулись на шаг назад.
shifts-left = Хорошо.
shifts-timed-out = Ответа долго не было, поэтому пока отложим. Все отметки и файлы сохранены.
shifts-resume = Продолжить можно в любой момент.
shifts-too-long = Напишите, пожалуйста, не больше { $count } знаков.

shifts-no-sites = У вас пока нет договора ни с одним объектом. Его добавит менеджер, и тогда здесь можно будет записываться на смены.
shifts-plan-site = На каком объекте?
shifts-free-button = ⚡ Ближайшие свободные смены
shifts-plan-free = Какая смена вам подходит?
shifts-plan-day = В какой день? Число показывает, сколько смен свободно.
shifts-plan-slot = В какое время? Последнее число — сколько мест осталось.
shifts-nothing-free = Свободных смен нет.
shifts-plan-confirm =
    { $site }
    { $when }
    { $rate } в час

    Записать вас?
shifts-plan-yes-button = Да, приду
shifts-planned = Записали вас: { $site }, { $when }. Напомним заранее.
shifts-overlap-warning = ⚠️ На это время у вас уже запланирована другая смена.
shifts-long-day-warning = ⚠️ С этой сменой в тот день выйдет примерно { $hours } ч работы.

shifts-mine = Ваши смены:
shifts-mine-none = Пока ни одной.
shifts-mine-open = ▶️ { $when } · { $site } · уже { $time }, { $rate } в час
shifts-mine-over = ✔️ { $when } · { $site } · { $time }, { $rate } в час
shifts-cancel-choice = ✖ Отменить { $when }

shifts-nothing-to-open = Сейчас у вас нет запланированной смены.
shifts-open-what = Какую смену открываете?
shifts-open-forgotten = Смена на объекте { $site } закончилась { $end }, но осталась открытой. Когда откроете другую, эта закроется с этим временем окончания.
shifts-without-plan-choice = { $site }, без записи
shifts-open-position = Отправьте, пожалуйста, местоположение: проверим, что вы на объекте { $site }.
shifts-close-position = Чтобы закрыть смену на объекте { $site }, отправьте местоположение.
shifts-open-site-position = Чтобы открыть объект { $site }, отправьте местоположение.
shifts-position-button = 📍 Отправить местоположение
shifts-position-taken = Спасибо, местоположение получено.
shifts-position-wanted = Нажмите, пожалуйста, кнопку 📍, чтобы отправить местоположение.
shifts-position-not-own = Это место переслано или выбрано из списка. Нажмите кнопку 📍 там, где вы сейчас.
shifts-position-old = Эта трансляция местоположения начата раньше. Нажмите кнопку 📍 там, где вы сейчас.
shifts-too-far = До объекта { $site } — { $distance }, а нужно не больше { $most }. Подойдите ближе и отправьте местоположение ещё раз.
shifts-metres = { $count } м
shifts-kilometres = { $count } км
shifts-opened = Смена на объекте { $site } открыта в { $hour }.
shifts-opened-tasks = Ваши задачи:
shifts-mandatory = обязательно
shifts-task-bonus-if-done = +{ $price } за выполнение
shifts-task-bonus-missed = премии { $price } нет
shifts-task-penalty-avoided = штрафа { $price } нет
shifts-task-penalty-if-skipped = −{ $price }, если не сделать

shifts-none-open = У вас нет открытой смены.
shifts-no-tasks = В этой смене нет задач.
shifts-tasks = Ваши задачи:
shifts-done-choice = ⬜ { $task }
shifts-undo-choice = ✅ { $task }
shifts-photo-choice = 📷 { $task }
shifts-more-media-button = 📷 ＋
shifts-ready-button = Готово
shifts-go-on-button = Перейти к закрытию
shifts-change-tasks-button = Отметить задачи
shifts-send-media = Пришлите фото, видео или файл: { $task }
shifts-media-wanted = Пришлите, пожалуйста, фото, видео или файл.
shifts-media-taken = Спасибо, файл сохранён.
shifts-tasks-kept = Все отметки сохранены.

shifts-close-review = Закрыть смену?
shifts-closing = Смена закрыта. Расчёт придёт отдельным сообщением.
shifts-closed = Смена на объекте { $site } закрыта: { $time }.
shifts-closed-paid = Оплачивается: { $hours } ч.
shifts-closed-task = { $kind } «{ $task }»
shifts-closed-total = Итого: { $total }
shifts-site-closed-too = На объекте { $site } больше никто не работает, он тоже закрыт.

shifts-no-site-to-open = Сейчас открывать нечего: объекты уже открыты, или ваш договор ещё не начался.
shifts-no-site-to-close = Закрывать нечего: ваши объекты не открыты.
shifts-open-which = Какой объект открываете?
shifts-close-which = Какой объект закрываете?
shifts-site-opened = Объект { $site } открыт.
shifts-site-closed = Объект { $site } закрыт.

shifts-cancel-reason = Почему вы не сможете прийти?
shifts-reason-illness-button = Болезнь
shifts-reason-family-button = Семейные обстоятельства
shifts-reason-transport-button = Транспорт
shifts-reason-other-button = Другое
shifts-reason-by-staff = Отменено менеджером
shifts-cancel-words = Напишите, пожалуйста, причину в нескольких словах.
shifts-cancel-document = Есть подтверждающий документ? Напишите, какой, и его номер.
shifts-cancel-photo = Пришлите его фото, если можете.
shifts-cancelled = Смена отменена: { $site }, { $when }. Когда причину рассмотрят, напишу, что решили.

weekday-mon = Пн
weekday-tue = Вт
weekday-wed = Ср
weekday-thu = Чт
weekday-fri = Пт
weekday-sat = Сб
weekday-sun = Вс

shifts-menu-at-work = ▶️ Вы на смене: { $site }, с { $since }, уже { $time }.
shifts-menu-today = 🗓 Ваша смена: { $site }, { $when }.

shifts-close-undone = ⚠️ Не сделано:
shifts-undone-deducted = • { $task } — удержим { $amount }
shifts-undone-bonus = • { $task } — без премии { $amount }
shifts-undone = • { $task }
shifts-undone-more = • и ещё { $count }
shifts-close-anyway = Закрыть смену без этих задач?
shifts-close-anyway-button = Закрыть без них

shifts-cancel-which = Отмена смены: { $site }, { $when }.
shifts-cancel-fine = ⚠️ Если причину не примут, удержим { $amount }.
shifts-cancel-fine-late = ⚠️ До начала меньше { $hours } ч. Если причину не примут, удержим { $amount }.

# Что остаётся после /cancel.
shifts-plan-stopped = Хорошо, новых записей нет.
shifts-open-stopped = Хорошо, новую смену не открываем.
shifts-tasks-stopped = Хорошо. Всё, что вы отметили и прислали, сохранено.
shifts-close-stopped = Хорошо. Смена остаётся открытой, отметки и файлы сохранены.
shifts-close-both-stopped = Хорошо. Смена и объект остаются открытыми, отметки и файлы сохранены.
shifts-open-site-stopped = Хорошо, объект не открываем.
shifts-close-site-stopped = Хорошо, объект остаётся открытым.
shifts-cancel-stopped = Хорошо. Смена { $day } остаётся за вами.
