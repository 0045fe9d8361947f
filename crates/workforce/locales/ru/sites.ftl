# Объекты, расписание, задачи и договоры; почему что-то нельзя сделать.
why-stale-toast = Кто-то уже это изменил. Посмотрите ещё раз.
why-gone-toast = Этого больше нет.
why-not-allowed-toast = У вас нет прав на это действие.
why-bad-toast = Что-то заполнено неверно. Проверьте, пожалуйста.
why-exists-toast = В этот день уже есть смена на это время.
why-taken-toast = На смену уже записалось больше людей.
why-in-use-toast = Здесь кто-то работает или записан на смену. Дождитесь конца смен или отмените их.
why-worked-toast = В этой смене уже работают или работали, поэтому день и начало не изменить. Создайте другую смену.
why-full-toast = Свободных мест не осталось.
why-overlap-toast = На это время у вас уже запланирована смена.
why-no-contract-toast = Ваш договор не включает этот объект.
why-not-spontaneous-toast = По вашему договору можно выходить только на запланированные смены. Сначала запишитесь.
why-working-toast = Вы уже на смене. Сначала закройте её.
why-not-working-toast = Эта смена уже закрыта.
why-not-then-toast = Укажите время между началом смены и текущим моментом.
why-plan-used-toast = Эта смена уже открыта, закрыта или отменена.
why-past-toast = Это время уже прошло.
why-early-toast = Ещё рано: смену можно открыть за два часа до начала.
why-needs-media-toast = Сначала пришлите фото к этой задаче.
why-too-much-media-toast = К этой задаче больше нельзя добавить фото.
why-too-many-tasks-toast = В смене может быть не больше 90 задач: своих и общих задач объекта вместе.
why-site-open-toast = Объект уже открыт.
why-site-closed-toast = Объект уже закрыт.
why-others-work-toast = Здесь ещё работают. Объект закроется, когда все закончат.
why-decided-toast = Решение уже принято.
why-own-case-toast = Это касается вас, поэтому решает владелец.

# Новости для тех, кого они касаются.
notice-plan-moved = Ваша смена на объекте { $site } перенесена: вместо { $before } теперь { $after }.
notice-plan-made = Вас записали на смену на объекте { $site }: { $when }.
notice-plan-cancelled = Ваша смена на объекте { $site } { $when } отменена. Приходить не нужно.
notice-plan-restored = Ваша смена на объекте { $site } { $when } всё-таки состоится.
notice-reminder = Напоминаю: скоро ваша смена на объекте { $site }, { $when }.
notice-missed = { $name } — нет на месте. { $site }, { $when }.
notice-you-missed = Вас ждали на объекте { $site }, { $when }. Если что-то случилось, напишите, пожалуйста, менеджеру.
notice-closed-by-time = Ваша смена на объекте { $site } закрыта автоматически: её время вышло. Окончание { $end }, итого { $total }.
notice-site-closed-by-time = Объект { $site }, который вы открыли, закрыт автоматически: часы работы закончились, и смен там нет.
notice-closed-by-staff = Вашу смену на объекте { $site } закрыл менеджер. Окончание { $end }, итого { $total }.
notice-cancelled = { $name } отменяет смену на объекте { $site }, { $when }. Рассмотрите причину в разделе «Сегодня».
notice-reason-accepted = Причину отмены приняли: { $site }, { $when }. Штрафа не будет.
notice-reason-rejected = Причину отмены не приняли: { $site }, { $when }. Удержано: { $fine }.

# Владелец в боте.
sites-today-button = 📋 Сегодня
sites-button = 🏢 Объекты
sites-today = Сегодня:
sites-none = Объектов пока нет. Создайте их в кабинете.
sites-list = Какой объект?
sites-works = • { $name } — на смене с { $since }
sites-late = { $count ->
    [one] ⏰ опоздание { $count } минута сверх допустимого
    [few] ⏰ опоздание { $count } минуты сверх допустимого
   *[many] ⏰ опоздание { $count } минут сверх допустимого
}
sites-was-here = • { $name } — смена с { $since } уже закрыта
sites-not-come = • { $name } — нет на месте: { $when }
sites-comes = • { $name } — по плану: { $when }
sites-card =
    { $site }
    { $address }
    { $rate } в час
sites-week = Ближайшие семь дней:
sites-new-slot-button = ➕ Новая смена
sites-new-slot = Напишите день, часы и число мест одной строкой, например: 31.12 09:00-18:00 2
sites-slot-not-understood = Не получилось разобрать. Пример: 31.12 09:00-18:00 2
sites-slot-made = Новая смена на объекте { $site }: { $when }.
sites-cancellation = { $name } не сможет выйти на смену: { $site }, { $when }. Причина: { $reason }
sites-accept-button = ✅ Принять
sites-reject-button = ❌ Отклонить
sites-accepted = Причина принята.
sites-rejected = Причина отклонена, штраф удержан.

# Что могут менеджеры.
sites-may-view = видеть объект
sites-may-edit = менять объект и задачи
sites-may-delete = удалять объект
sites-may-employees = вести сотрудников и отмены
sites-may-finances = видеть финансы
sites-may-rates = менять ставки
sites-may-schedule = составлять расписание
