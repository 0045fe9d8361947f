# Тихие часы: когда сообщения ждут.
quiet-off = Без тихих часов
quiet-21-8 = 21:00–08:00
quiet-22-7 = 22:00–07:00
quiet-22-8 = 22:00–08:00
quiet-23-7 = 23:00–07:00
quiet-23-9 = 23:00–09:00
quiet-as-business = Как у всех ({ $now })
quiet-ask =
    Ваши тихие часы: { $now }

    В это время я пишу только о срочном: например, что скоро смена. Когда вас не беспокоить?
quiet-set = Готово. Ваши тихие часы: { $now }

# Документы, срок которых скоро истекает.
notice-document-expires =
    { $document ->
        [driving_licence] 🪪 Ваше водительское удостоверение действует до { $day }.
       *[other] 🪪 Ваш паспорт действует до { $day }.
    } Пожалуйста, вовремя передайте новый документ менеджеру.
notice-document-of-member-expires =
    { $document ->
        [driving_licence] 🪪 { $name }: водительское удостоверение действует до { $day }.
       *[other] 🪪 { $name }: паспорт действует до { $day }.
    }

# Итоги дня для владельцев.
summary-title = 📋 { $day }
summary-shifts =
    { $count ->
        [one] { $count } смена
        [few] { $count } смены
       *[other] { $count } смен
    }{ $open ->
        [0] {""}
       *[other] , ещё открыто: { $open }
    }
summary-hours = Оплаченные часы: { $hours }
summary-pay = Начислено за день: { $pay }
summary-no-shows = Не пришли: { $count }
summary-tomorrow = Завтра: выходят — { $expected }, свободных мест — { $free }
summary-applications = Заявок на рассмотрении: { $count }
summary-cancellations = Отмен на рассмотрении: { $count }
summary-documents = Документов скоро истекает: { $count }
summary-off = Без итогов
summary-menu-button = 📬 Итоги дня
summary-own-title = Итоги дня
summary-own = Сейчас: { $now }. Чтобы изменить, отправьте боту /summary.
summary-ask =
    Итоги дня: { $now }

    Когда присылать смены, часы, начисления и то, что требует внимания завтра?
summary-set = Готово. Итоги дня: { $now }
