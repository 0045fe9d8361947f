# Сегодня и календарь.

overview-attention = Требует внимания
overview-all-good = Всё в порядке: сейчас ничего не требует внимания.
overview-applications-review = Рассмотреть
overview-cancellations = { $count ->
    [one] { $count } отмена ждёт решения
    [few] { $count } отмены ждут решения
   *[many] { $count } отмен ждут решения
}
overview-cancellations-decide = Решить
overview-no-show = Нет на месте: { $name }
overview-no-show-about = { $site }, начало в { $time }
overview-no-show-open = Показать смену
overview-more-no-shows = { $count ->
    [one] Ещё { $count } человека нет на месте
   *[other] Ещё { $count } человек нет на месте
}
overview-gap = { $count ->
    [one] Сегодня не хватает { $count } человека
   *[other] Сегодня не хватает { $count } человек
}
overview-gap-about = { $site }, { $hours }
overview-gap-assign = Поставить
overview-more-gaps = { $count ->
    [one] Ещё { $count } смена сегодня со свободными местами
    [few] Ещё { $count } смены сегодня со свободными местами
   *[many] Ещё { $count } смен сегодня со свободными местами
}
overview-expiring = { $kind }: { $name }
overview-expires = Срок истекает { $day }
overview-expired = Срок истёк { $day }
overview-more-expiring = { $count ->
    [one] Ещё { $count } документ с истекающим сроком
    [few] Ещё { $count } документа с истекающим сроком
   *[many] Ещё { $count } документов с истекающим сроком
}
overview-show-document = Открыть документ
overview-show-all = Показать все
overview-working = на смене с { $since }, до { $until }
overview-working-open = на смене с { $since }
overview-worked = смена { $since }–{ $until }
overview-expected = ожидается { $since }–{ $until }
overview-sites = Объекты сегодня
overview-no-activity = Сегодня смен нет.
overview-day-bar = День на объекте { $site }: запланировано { $planned }, на смене { $working }

overview-start = Начните работу
overview-start-site = Добавьте первый объект
overview-start-site-about = Где работают люди: адрес, часы работы, ставка в час.
overview-start-schedule = Заполните расписание
overview-start-schedule-about = Выделите дни в календаре, чтобы добавить смены.
overview-start-invite = Пригласите команду
overview-start-invite-about = Отправьте сотрудникам ссылку на бота: там они зарегистрируются.
overview-start-contract = Добавьте первый договор
overview-start-contract-about = В нём указано, где сотрудник работает и по какой ставке.
overview-start-go = Начать
overview-start-done = готово

overview-calendar-empty = Объектов пока нет
overview-calendar-empty-about = Смены бывают на объектах. Добавьте первый объект, и календарь готов.
overview-add-site = Добавить объект
overview-close = Закрыть
overview-fill = Заполнить дни
overview-fill-about = Добавит такую смену на каждый из этих дней. Те, что уже есть, останутся.
overview-fill-button = Добавить смены
overview-every-day = каждый день
overview-working-days = только рабочие дни объекта
overview-everyone-busy = У всех с договором на этот объект в это время другая смена.
overview-no-contracts = Договоров на этот объект ещё нет, поэтому поставить некого.
overview-slot-tasks = { $count ->
    [0] Задачи этой смены
   *[other] Задачи этой смены: { $count }
}
overview-undo = Вернуть как было
overview-did-create = Смена добавлена.
overview-did-save = Смена сохранена.
overview-did-move = Смена перенесена.
overview-did-delete = Смена удалена.
overview-did-restore = Смена возвращена.
overview-did-take-back = { $count ->
    [0] Убирать нечего: новые смены уже изменены или заняты.
    [one] Убрана { $count } новая смена.
    [few] Убраны { $count } новые смены.
   *[many] Убрано { $count } новых смен.
}
overview-nothing-today = На остаток дня ничего не запланировано.
