# The pages: sign-in, the frame, people, one's own page, the operator's page.
web-brand = Opora
web-skip = Skip to content
web-nav = Sections
web-nav-people = People
web-nav-collapse = Collapse the menu
web-account = Your menu: { $name }
web-more = More
web-close = Close
web-search-pages = Pages
web-search-nothing = Nothing found. Try another word.
web-palette-hint = A person, a site or a page
web-nav-admin = Administration
web-sign-out = Sign out
web-to-home = Go to home

web-sign-in = Sign in
web-sign-in-about = Our Telegram bot will send you a PIN. Enter it here.
web-demo-sign-in = This is a demo: sign in as the owner (1001), a manager (1002) or an employee (1005). Any six digits are the PIN.
web-sign-in-by-link = Or send /cabinet to the bot, and it will reply with a sign-in link.
web-sign-in-too-many = Too many requests. { $minutes ->
    [one] You can ask for a PIN again in { $minutes } minute.
   *[other] You can ask for a PIN again in { $minutes } minutes.
} You don't have to wait: send /cabinet to the bot, and it will reply with a sign-in link.
web-link-message =
    Your link to the dashboard: { $url }

    It works once, for five minutes. Don't share it: it signs in as you.
web-link-button = 🖥 Open the dashboard
web-link-owner = This link opens the account of { $name }.
web-link-over = This link has been used or has expired. Send /cabinet to the bot for a new one.
web-who = Telegram ID, @username or phone
web-who-hint = To see your ID, send /me to the bot.
web-who-not-understood = This isn't an ID, a username or a phone number. Please check.
web-send-pin = Send me a PIN
web-pin-sent = If { $who } is in the system, the bot has just sent six digits. They are valid for five minutes.
web-pin = PIN from the bot
web-log-in = Sign in
web-ask-again = Get another PIN
web-pin-wrong = Wrong PIN. A PIN works once, in the browser that asked for it.
web-pin-expired = This PIN has expired. Please get a new one.
web-pin-unavailable = The bot can't send a PIN right now: its message store isn't responding. Nothing was sent; please try again in a few minutes.
web-pin-locked = Too many wrong PINs. You can get a new one in { $minutes ->
    [one] { $minutes } minute
   *[other] { $minutes } minutes
}.
web-pin-message =
    Your sign-in PIN: { $pin }

    It is valid for five minutes, at { $url }. If you didn't ask for it, do nothing and don't share it.

web-bad-request = We didn't understand this request
web-bad-request-advice = Please go back and try again.
web-bad-day = We can't show this day
web-bad-day-advice = Please choose a day from { $first } to { $last }, for example Dec 31, 2026.
web-forbidden = You don't have access to this page
web-forbidden-advice = Your role doesn't include it. If it should, talk to the owner.
web-not-found = Page not found
web-not-found-advice = It may have moved, or there's a mistake in the address.
web-stale-form = This form is out of date
web-stale-form-advice = Please go back, reload the page and try again.
web-not-possible = This isn't possible right now
web-not-possible-advice = Someone may have changed this first. Please reload the page and check.
web-too-many = Too many requests
web-too-many-advice = { $minutes ->
    [one] Please wait { $minutes } minute and try again.
   *[other] Please wait { $minutes } minutes and try again.
}
web-unavailable = This isn't working right now
web-unavailable-advice = The bot is starting or moving to another server. Please try again in a minute.
web-failed = Something went wrong on our side
web-failed-advice = We've logged the error. Please try again in a moment.
web-request-number = Request { $number }

web-home = Today
web-greeting = Hello, { $name }!
web-home-empty = There's nothing for your role here yet. New things will appear here and in the bot.
web-count-verified = On the team

web-people = People
web-people-count = { $count ->
    [one] { $count } person
   *[other] { $count } people
}
web-people-of-sites = Employees with a contract for the sites you look after.
web-search = Search
web-search-hint = Name, @username, phone or ID
web-no-person-found = No one found
web-no-person-found-about = Try other words or fewer filters.
web-people-show-all = Show everyone
web-no-people-yet = No one here yet
web-no-people-yet-about = Send an invitation: people who open the link register in the bot and appear here.
web-all-people = All
web-all-roles = All roles
web-role = Role
web-review = Review
web-people-pending = Applicants
web-people-verified = On the team
web-people-rejected = Rejected
web-people-blocked = Blocked
web-pages = Pages
web-previous = ← Back
web-next = Next →
web-page-of = { $page } of { $pages }
web-name = Name
web-roles = Roles
web-status = Status
web-phone = Phone
web-username = Username
web-telegram-id = Telegram ID
web-email = Email
web-since = Member since
web-test-user = Test user
web-status-pending = awaiting approval
web-status-verified = on the team
web-status-rejected = rejected
web-status-blocked = blocked

web-access = Access
web-give-role = Give role
web-take-role = Remove role
web-block = Block
web-unblock = Unblock
web-block-ask = Block…
web-block-title = Block { $name }?
web-block-signs-out = They'll be signed out everywhere, and the bot will stop responding to their commands.
web-block-gives-back = { $count ->
    [0] They have no planned shifts, so nothing is given back.
    [one] Their planned shift will be given back and becomes open to others.
   *[other] Their { $count } planned shifts will be given back and become open to others.
}
web-block-at-work = They are on shift right now. The shift stays open until you clock it out or it closes automatically.
web-block-tells = The bot will tell them that their access is blocked.
web-block-undo = You can unblock them at any time and restore the shifts that are still open.
web-block-not = Keep access
web-block-done = { $count ->
    [0] { $name } is blocked
    [one] { $name } is blocked, 1 planned shift given back
   *[other] { $name } is blocked, { $count } planned shifts given back
}
web-unblock-ask = Unblock…
web-unblock-title = Unblock { $name }?
web-unblock-about = They can sign in and use the bot again. The bot will tell them.
web-unblock-gone = These shifts were given back and can't be restored:
web-unblock-restores = { $count ->
    [one] Restore the planned shift that is still open
   *[other] Restore { $count } planned shifts that are still open
}
web-unblock-not = Keep blocked
web-unblock-done = { $count ->
    [0] { $name } is unblocked
    [one] { $name } is unblocked, 1 shift restored
   *[other] { $name } is unblocked, { $count } shifts restored
}
web-person-edit = Edit
web-person-saved = Changes saved
web-person-name-hint = Enter a first and last name, at least two letters.
web-person-phone-hint = Enter a phone like +7 999 123-45-67.
web-person-email-hint = Enter an address like anna@example.com, or leave it empty.
web-person-username-about = The @username comes from Telegram and updates itself when the person writes to the bot.
web-invite = Invite
web-invite-about = Send this link to new people, or let them scan the code. The bot will guide them through registration.
web-invite-link = Link to the bot
web-invite-qr = QR code of the link to the bot
web-invite-copy = Copy the link
web-invite-copied = Copied
web-invite-print = Print
web-invite-open = Open the bot
web-invite-next = After they register, approve them under People → Registrations. You can add their contract in the same step.
web-invite-unknown = Telegram hasn't told us the bot's username yet. Please try again in a minute.
web-forget-done = Personal data deleted
web-person-sections = Parts of the page
web-person-overview = Overview
web-person-photo = Photo
web-person-call = Call
web-person-more = More actions
web-history = Activity
web-history-empty = Nothing yet.
web-by-command = from the command line

web-me = My page
web-language = Language
web-sessions = Where you're signed in
web-this-browser = this browser
web-seen = last used
web-end-session = End
web-end-others = End all others
web-language-saved = Everything is in English now.
web-session-ended = That session has ended.
web-sessions-ended = All other sessions have ended.

web-admin-about = The state of the service: bot, database and message queues.
web-store-sqlite = SQLite: a restart loses nothing
web-store-postgres = PostgreSQL: a restart loses nothing
web-store-redis = Redis: a restart loses nothing if Redis writes to disk
web-store-memory = in memory: dialogues start over after a restart
web-health = Health
web-version = Version
web-database = Database
web-bot = Bot
web-store = Conversations
web-well = working
web-not-well = not responding
web-lease = Active process
web-lease-held = process { $pid } on { $host }, since
web-lease-free = none
web-dialogues = Dialogues by state
web-dialogues-active = { $count ->
    [one] { $count } in progress
   *[other] { $count } in progress
}
web-waiting = Queues
web-inbox = Incoming messages
web-outbox = Messages to send
web-unsendable = Failed messages
web-timers = Timers
web-effects = Work in progress
web-parked = Parked turns
web-parked-none = None: everything has been processed.
web-parked-of = from Telegram account { $user }
web-parked-advice = View, retry or discard them with:

web-own-data = Personal data
web-own-data-about = People can ask for all data about them, and ask to have it deleted.
web-export = Download as a file
web-forget = Delete…
web-forget-title = Delete the data of { $name }
web-forget-goes = This deletes the name, phone, email and username, the documents with their photos, the questionnaire answers and the conversations. They will be signed out everywhere.
web-forget-stays = Hours worked and money paid stay, under a number: accounting needs them. So does the activity history.
web-forget-final = This can't be undone. The person can register again, as someone new.
web-forget-sure = I understand, and the person asked for it
web-forget-now = Delete for good
web-forget-not = Keep everything

# Forms.
web-form-stale = Someone changed this first, while you were writing. Nothing is lost: your version is in the form, and each field that differs shows its current value.
web-form-look-again = Please check the marked fields.
web-form-bad-field = This value doesn't fit. Enter another one.
web-form-not-yours = You don't have permission to change this.
web-form-by-now = Now: { $value }
web-form-ticked = ticked
web-form-not-ticked = not ticked
web-form-on-top = Save my version
web-form-on-top-about = Your version will replace what the other person saved.
web-form-drop = Keep the current version
web-form-typed = You wrote:

# Dates.
web-day = { $day }, { $year }
web-long-day = { $weekday ->
    [1] Monday
    [2] Tuesday
    [3] Wednesday
    [4] Thursday
    [5] Friday
    [6] Saturday
   *[7] Sunday
}, { $month ->
    [1] January
    [2] February
    [3] March
    [4] April
    [5] May
    [6] June
    [7] July
    [8] August
    [9] September
    [10] October
    [11] November
   *[12] December
} { $day }
# What to type into a field that does not fit.
web-form-bad-number = Enter a whole number, for example 5.
web-form-bad-money = Enter an amount, for example 250 or 250.50.
web-form-bad-time = Enter a time, for example 09:30.
web-form-bad-day = Enter a date, for example Dec 31, 2026.
web-form-bad-moment = Enter a date and time, for example Dec 31, 2026 18:00.
web-form-bad-choice = Choose an option from the list.
web-form-bad-zone = Enter a time zone, for example Moscow or Europe/Moscow, or choose it from the list.
