# Quiet hours: when notices wait.
quiet-off = No quiet hours
quiet-21-8 = 21:00–08:00
quiet-22-7 = 22:00–07:00
quiet-22-8 = 22:00–08:00
quiet-23-7 = 23:00–07:00
quiet-23-9 = 23:00–09:00
quiet-as-business = Like the team ({ $now })
quiet-ask =
    Your quiet hours: { $now }

    During them I only write about urgent things, such as a shift that starts soon. When should I stay silent?
quiet-set = Done. Your quiet hours: { $now }

# Documents that expire soon.
notice-document-expires =
    { $document ->
        [driving_licence] 🪪 Your driving licence is valid until { $day }.
       *[other] 🪪 Your passport is valid until { $day }.
    } Please send the new one to your manager in time.
notice-document-of-member-expires =
    { $document ->
        [driving_licence] 🪪 { $name }: the driving licence is valid until { $day }.
       *[other] 🪪 { $name }: the passport is valid until { $day }.
    }

# The summary of the day, for owners.
summary-title = 📋 { $day }
summary-shifts =
    { $count ->
        [one] { $count } shift
       *[other] { $count } shifts
    }{ $open ->
        [0] {""}
       *[other] , still open: { $open }
    }
summary-hours = Paid hours: { $hours }
summary-pay = Pay of the day: { $pay }
summary-no-shows = No-shows: { $count }
summary-tomorrow = Tomorrow: people expected – { $expected }, open spots – { $free }
summary-applications = Registrations awaiting approval: { $count }
summary-cancellations = Cancellations awaiting approval: { $count }
summary-documents = Documents that expire soon: { $count }
summary-off = No summary
summary-menu-button = 📬 Daily summary
summary-own-title = Daily summary
summary-own = Currently: { $now }. To change it, send /summary to the bot.
summary-ask =
    Daily summary: { $now }

    When should I send you shifts, hours, pay and what needs attention tomorrow?
summary-set = Done. Daily summary: { $now }
