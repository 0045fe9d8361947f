# Статусы заказа
orders-status-new = Новый
orders-status-assigned = Назначен
orders-status-accepted = Принят
orders-status-on-site = На месте
orders-status-long-repair = Долгий ремонт
orders-status-closed = Закрыт
orders-status-refused = Отменён

# Ошибки в полях
orders-bad-equipment-empty = Что нужно починить? Например: стиральная машина.
orders-bad-equipment-long = Сократите название техники до 100 символов.
orders-bad-description-short = Опишите неисправность: не меньше 10 символов.
orders-bad-description-long = Сократите описание до 2000 символов.
orders-bad-name-short = Укажите имя клиента полностью: не меньше 5 символов.
orders-bad-name-long = Сократите имя клиента до 100 символов.
orders-bad-address-short = Укажите полный адрес: не меньше 10 символов.
orders-bad-address-long = Сократите адрес до 500 символов.
orders-bad-address-digit = Добавьте в адрес номер дома.
orders-bad-phone = Введите номер из 10 цифр, например +7 999 123-45-67.
orders-bad-phone-foreign = Подойдёт только российский номер: +7 и 10 цифр.
orders-bad-notes-long = Сократите примечания до 1000 символов.
orders-bad-time-past = Выберите время, которое ещё не прошло.
orders-bad-time-far = Выберите время в ближайшие два года.
orders-bad-reason = Укажите причину: до 300 символов.
orders-bad-message = Напишите сообщение: до 1000 символов.

# Почему не получилось
orders-why-stale-toast = Заказ уже изменился. Посмотрите ещё раз и повторите.
orders-why-gone-toast = Такого заказа нет.
orders-why-not-allowed-toast = С этим заказом так поступить нельзя: не хватает прав.
orders-why-status-toast = На этом этапе заказа так нельзя.
orders-why-taken-toast = Заказ уже у другого мастера.
orders-why-no-master-toast = Выберите мастера, который сейчас может брать заказы.
orders-why-materials-toast = Материалы не могут стоить больше всей суммы.
orders-why-amount-toast = Проверьте суммы: не меньше нуля, не больше миллиона, и итог должен совпадать со строками.
orders-why-photo-before-toast = Сначала добавьте фото до начала работы.
orders-why-photo-after-toast = Сначала добавьте фото готовой работы.
orders-why-checklist-toast = Сначала выполните обязательные пункты чек-листа.
orders-why-confirmation-toast = Сначала клиент должен подтвердить сумму. Или отметьте оплату наличными.
orders-why-files-toast = В этом заказе уже слишком много файлов.
orders-why-no-item-toast = Этой записи больше нет.
orders-why-stars-toast = Поставьте от одной до пяти звёзд; комментарий до 1000 символов.
orders-why-past-toast = Выберите время, которое ещё не прошло и не слишком далеко.
orders-why-rule-toast = Такое повторение не подойдёт. Выберите: каждый день, неделю, месяц или год.
orders-why-clients-off-toast = Сейчас заказ в боте оформить нельзя. Пожалуйста, позвоните нам.
orders-why-exists-toast = Такая запись уже есть.

# Причины от программы
orders-reason-master-gone = Мастеру закрыт доступ.
orders-reason-client-gone = Клиент попросил удалить свои данные.
orders-reason-handed-over = Заказ передан другому мастеру.

# Новости
orders-no-time = не назначено
orders-news-assigned = 🔧 Вам назначен заказ № { $number }. Время: { $when }. Примите его или откажитесь.
orders-news-offered = 🔔 Есть заказ № { $number }. Возьмите его до { $until }.
orders-news-offer-over = Заказ № { $number } больше не предлагается.
orders-news-taken-back = Заказ № { $number } больше не ваш.
orders-news-unaccepted = ⏳ Заказ № { $number } ждёт вашего ответа уже { $minutes } мин.
orders-news-from-client = 🆕 Клиент оформил заказ № { $number }. Подтвердите его.
orders-news-from-rule = 🔁 По расписанию создан заказ № { $number }.
orders-news-declined = { $name }: отказ от заказа № { $number }. Причина: { $reason }
orders-news-master-gone = { $name }: доступ закрыт. Заказу № { $number } нужен другой мастер.
orders-news-taken = { $name } берёт заказ № { $number }.
orders-news-no-taker = ❗ Заказ № { $number } никто не взял. Назначьте мастера.
orders-news-overdue = ⏰ Заказ № { $number } в статусе «{ $status }» уже { $hours } ч.
orders-news-unaccepted-by = ⏳ { $name } не отвечает по заказу № { $number } уже { $minutes } мин.
orders-news-low-rating = ⚠ Низкая оценка заказа № { $number }: { $stars } из 5.
orders-news-refused = Заказ № { $number } отменён: { $reason }
orders-news-rescheduled = 📅 Заказ № { $number } перенесён. Новое время: { $when }. { $reason }
orders-news-message = 💬 Заказ № { $number }: { $text }
orders-news-confirmed = ✅ Мы подтвердили ваш заказ № { $number } и подбираем мастера.
orders-news-master-found = 👷 Вашим заказом № { $number } займётся { $name }. Время: { $when }.
orders-news-on-the-way = 🚗 Мастер едет к вам по заказу № { $number } и будет примерно в { $arrives }.
orders-news-amount-asked = Стоимость заказа № { $number }: { $total }. Подтвердите сумму.
orders-news-amount-confirmed = ✅ Клиент подтвердил { $total } по заказу № { $number }.
orders-news-long-repair = 🛠 Ремонт по заказу № { $number } займёт больше времени: до { $until }.
orders-news-finished = ✅ Заказ № { $number } выполнен. Итого: { $total }. Как всё прошло?

# Настройки
orders-setting-clients = Клиенты могут оформлять заказы в боте
orders-setting-clients-about = Заказать ремонт смогут и те, кто у вас не работает. Каждый заказ подтверждает диспетчер.
orders-setting-small = Доля мастера с обычного заказа, %
orders-setting-large = Доля мастера с крупного заказа, %
orders-setting-large-from = Крупный заказ — от, { CURRENCY() }
orders-setting-share-about = От суммы без материалов. Действует для заказов, закрытых после изменения.
orders-setting-review = Надбавка за отзыв клиента, %
orders-setting-town = Надбавка за выезд за город, %
orders-setting-extra-about = Прибавляется к доле мастера.
orders-setting-before = Нужно фото до начала работы
orders-setting-after = Нужно фото готовой работы
orders-setting-checklist = Нужно выполнить обязательные пункты чек-листа
orders-setting-needs-about = Без этого заказ не закрыть.
orders-setting-confirmed = Сумма должна быть подтверждена
orders-setting-confirmed-about = Клиент подтверждает сумму в боте, или мастер отмечает оплату наличными.
