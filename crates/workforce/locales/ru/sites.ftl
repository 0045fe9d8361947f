# Объекты, слоты, задачи и договоры; почему что-то нельзя сделать.
why-stale-toast = Это уже изменил кто-то другой. Посмотрите ещё раз.
why-gone-toast = Этого больше нет.
why-not-allowed-toast = У вас нет на это прав.
why-bad-toast = Здесь что-то заполнено неверно.
why-exists-toast = Такое уже есть.
why-taken-toast = Записалось больше людей, чем будет мест.
why-in-use-toast = Здесь кто-то работает или собирается. Сначала это должно закончиться.
why-worked-toast = В этом слоте уже работают или работали, поэтому день и начало не меняются. Создайте другой слот.
why-full-toast = Свободных мест здесь не осталось.
why-overlap-toast = На это время у вас уже запланирована смена.
why-no-contract-toast = Ваш договор не включает этот объект.
why-not-spontaneous-toast = По вашему договору смены только по плану. Сначала запишитесь.
why-working-toast = Вы уже на смене. Сначала закройте её.
why-not-working-toast = Эта смена уже не открыта.
why-not-then-toast = Конец должен быть не раньше начала смены и не позже текущего времени.
why-plan-used-toast = Эта запись уже использована или отменена.
why-past-toast = Это время уже прошло.
why-early-toast = Ещё рано: смену можно открыть за два часа до начала.
why-needs-media-toast = Для этой задачи сначала нужно фото.
why-too-much-media-toast = У этой задачи достаточно фото.
why-too-many-tasks-toast = В смене может быть не больше 90 задач: объекта и слота вместе.
why-site-open-toast = Объект уже открыт.
why-site-closed-toast = Объект уже закрыт.
why-others-work-toast = Здесь ещё работают другие. Объект закроется, когда они закончат.
why-decided-toast = Это уже решено.
why-own-case-toast = Это касается вас самих: решает владелец.

# Новости для тех, кого они касаются.
notice-plan-moved = Ваша смена на объекте { $site } перенесена: вместо { $before } теперь { $after }.
notice-plan-made = Вас записали на смену на объекте { $site }: { $when }.
notice-plan-cancelled = Ваша смена на объекте { $site } { $when } отменена. Приходить не нужно.
notice-plan-restored = Ваша смена на объекте { $site } { $when } всё-таки состоится.
notice-reminder = Напоминаю: скоро ваша смена на объекте { $site }, { $when }.
notice-missed = { $name } не вышел(ла) на объект { $site }, { $when }.
notice-you-missed = Вас ждали на объекте { $site }, { $when }. Если что-то случилось, сообщите, пожалуйста, управляющему.
notice-closed-by-time = Я закрыл вашу смену на объекте { $site }: её время вышло. Окончание { $end }, итого { $total }.
notice-site-closed-by-time = Я закрыл объект { $site }, который вы открыли: часы работы закончились, и смен там нет.
notice-closed-by-staff = Вашу смену на объекте { $site } закрыли за вас. Окончание { $end }, итого { $total }.
notice-cancelled = { $name } отменяет смену на объекте { $site }, { $when }. Причина ждёт решения в разделе «Сегодня».
notice-reason-accepted = Причина отмены смены на объекте { $site }, { $when }, принята.
notice-reason-rejected = Причина отмены смены на объекте { $site }, { $when }, не принята. Удержано: { $fine }.

# Владелец в боте.
sites-today-button = 📋 Сегодня
sites-button = 🏢 Объекты
sites-today = Сегодня:
sites-none = Объектов пока нет. Создайте их в кабинете.
sites-list = Какой объект?
sites-works = • { $name } работает с { $since }
sites-late = { $count ->
    [one] ⏰ опоздание { $count } минута
    [few] ⏰ опоздание { $count } минуты
   *[many] ⏰ опоздание { $count } минут
}
sites-was-here = • { $name } — смена с { $since } уже закрыта
sites-not-come = • { $name } — не вышел(ла): { $when }
sites-comes = • { $name } — по плану: { $when }
sites-card =
    { $site }
    { $address }
    { $rate } в час
sites-week = Ближайшие семь дней:
sites-new-slot-button = ➕ Новый слот
sites-new-slot = Напишите день, часы и число мест одной строкой, например: 31.12 09:00-18:00 2
sites-slot-not-understood = Не понял. Пример: 31.12 09:00-18:00 2
sites-slot-made = Новый слот на объекте { $site }: { $when }.
sites-cancellation = { $name } не выйдет на объект { $site }, { $when }. Причина: { $reason }
sites-accept-button = ✅ Принять
sites-reject-button = ❌ Отклонить
sites-accepted = Причина принята.
sites-rejected = Причина отклонена, удержание начислено.

# Что могут менеджеры.
sites-may-view = видеть
sites-may-edit = менять объект и задачи
sites-may-delete = удалять объект
sites-may-employees = сотрудники и отмены
sites-may-finances = финансы
sites-may-rates = ставки
sites-may-schedule = расписание
