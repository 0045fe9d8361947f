# The pages: sign-in, the frame, people, one's own page, the operator's page.
web-brand = Opora
web-skip = To the content
web-nav = Sections
web-nav-people = People
web-nav-admin = Administration
web-sign-out = Sign out
web-to-home = To the front page

web-sign-in = Sign in
web-sign-in-about = You get a PIN from our Telegram bot, and enter it here.
web-sign-in-by-link = Or send /cabinet to the bot: it answers with a link that signs you in.
web-sign-in-too-many = Too many requests. { $minutes ->
    [one] You can ask for a PIN again in { $minutes } minute.
   *[other] You can ask for a PIN again in { $minutes } minutes.
} You don’t have to wait: send /cabinet to the bot, and it answers with a link that signs you in.
web-link-message =
    Your link to the web cabinet: { $url }

    It works once and for five minutes. Don’t share it: it signs in as you.
web-link-button = 🖥 Open the web cabinet
web-link-owner = This link opens the account of { $name }.
web-link-over = This link has been used or is too old. Send /cabinet to the bot for a new one.
web-who = Telegram number, @username or phone
web-who-hint = The bot tells your number when you send it /me.
web-who-not-understood = This is neither a number, nor a username, nor a phone. Please look again.
web-send-pin = Send me a PIN
web-pin-sent = If { $who } is known here, the bot has just sent six digits. They are valid for five minutes.
web-pin = PIN from the bot
web-log-in = Sign in
web-ask-again = Ask for another PIN
web-pin-wrong = This PIN is not right. A PIN can be used once, in the browser that asked for it.
web-pin-expired = This PIN is too old. Please ask for another one.
web-pin-unavailable = The bot cannot send a PIN at the moment: what it keeps its messages in does not answer. Nothing was sent; please try again in a few minutes.
web-pin-locked = Too many wrong PINs. You can ask for a new one in { $minutes ->
    [one] { $minutes } minute
   *[other] { $minutes } minutes
}.
web-pin-message =
    Your PIN to sign in: { $pin }

    It is valid for five minutes, at { $url }. If you did not ask for it, do nothing and tell it to nobody.

web-bad-request = We did not understand this request
web-bad-request-advice = Please go back and try again.
web-bad-day = We cannot show this day
web-bad-day-advice = Please choose a day from { $first } to { $last }, written like 2026-01-31.
web-forbidden = This page is for others
web-forbidden-advice = Your role does not include it. If you think it should, talk to the owner.
web-not-found = There is no such page
web-not-found-advice = It may have moved, or the address is not quite right.
web-stale-form = This form is out of date
web-stale-form-advice = Please go back, load the page again and repeat it.
web-not-possible = This is not possible now
web-not-possible-advice = Somebody may have been faster. Please load the page again and look.
web-too-many = Too many requests
web-too-many-advice = { $minutes ->
    [one] Please wait { $minutes } minute and try again.
   *[other] Please wait { $minutes } minutes and try again.
}
web-unavailable = This does not work at the moment
web-unavailable-advice = The bot is just being started or moved. Please try again in a minute.
web-failed = Something went wrong on our side
web-failed-advice = We have noted it. Please try again in a moment.
web-request-number = Request { $number }

web-home = Front page
web-greeting = Hello, { $name }!
web-home-empty = There is nothing for your role here yet; new things will appear in the bot and here.
web-count-verified = In the team
web-count-pending = Wait for a decision

web-people = People
web-people-count = { $count ->
    [one] { $count } person
   *[other] { $count } people
}
web-people-of-sites = People with a contract for the sites whose employees you look after.
web-search = Search
web-search-hint = Name, @username, phone or number
web-nobody-found = Nobody was found.
web-pages = Pages
web-previous = ← Back
web-next = Further →
web-page-of = { $page } of { $pages }
web-name = Name
web-roles = Roles
web-status = Status
web-phone = Phone
web-username = Username
web-telegram-id = Telegram number
web-email = Email
web-since = Known since
web-test-user = Test user
web-status-pending = waits
web-status-verified = verified
web-status-rejected = declined
web-status-blocked = blocked

web-access = Access
web-give-role = Give this role
web-take-role = Take away
web-block = Block
web-block-about = Who is blocked is signed out everywhere, and the bot does nothing more for them.
web-unblock = Unblock
web-history = What staff did
web-history-empty = Nothing yet.
web-by-command = from the command line

web-me = My page
web-language = Language
web-sessions = Where I am signed in
web-this-browser = this browser
web-seen = last used
web-end-session = End
web-end-others = End all others

web-admin-beginning = This page is a beginning: more about operations will follow.
web-health = Health
web-version = Version
web-database = Database
web-bot = Bot
web-store = Conversations
web-well = works
web-not-well = does not answer
web-lease = Who works for the bot
web-lease-held = process { $pid } on { $host }, since
web-lease-free = nobody at the moment
web-dialogues = Dialogues by state
web-dialogues-active = { $count ->
    [one] { $count } is under way
   *[other] { $count } are under way
}
web-waiting = What waits
web-inbox = Inputs
web-outbox = Messages to send
web-unsendable = Messages that failed
web-timers = Timers
web-effects = Work under way
web-parked = Parked turns
web-parked-none = None: nothing has failed for good.
web-parked-of = of the Telegram account { $user }
web-parked-advice = To look at them, run them again or drop them:

web-own-data = Personal data
web-own-data-about = A person may ask for everything that is known of them, and that it is deleted.
web-export = Download as a file
web-forget = Delete…
web-forget-title = Delete the data of { $name }
web-forget-goes = This deletes the name, phone, email and username, the documents with their pictures, the answers of the questionnaire and the conversations with staff. All sign-ins end.
web-forget-stays = Hours worked and money paid stay, under a number: accounting needs them. So does the list of what staff did.
web-forget-final = This cannot be undone. The person may register again, as somebody new.
web-forget-sure = I understand, and the person has asked for it
web-forget-now = Delete for good
web-forget-not = Keep everything

# Forms.
web-form-stale = Somebody else has changed this while you were writing. Nothing of yours is lost: your words are in the form, and beside each field that differs you see how it is now.
web-form-look-again = Please look at the marked fields again.
web-form-bad-field = Please check this.
web-form-not-yours = You may not change this.
web-form-by-now = Now: { $value }
web-form-ticked = ticked
web-form-not-ticked = not ticked
web-form-on-top = Save mine on top
web-form-on-top-about = Saving replaces what the other person has written by what stands in this form.
web-form-drop = Leave it as it is now
web-form-typed = You had written:
