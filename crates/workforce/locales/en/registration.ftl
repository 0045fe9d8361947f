# Registration: what newcomers are asked, and what becomes of it.
registration-language = Let us get to know each other. Which language shall I speak?
registration-resume = You have begun to register: { $done } of { $all } steps are done. Shall we continue?
registration-continue-button = Continue
registration-over-button = Start over
registration-back-button = ← Back
registration-back-said = One step back.
registration-skip-button = Skip
registration-name = What is your first and last name?
registration-name-too-short = Please write your name in letters: at least two of them.
registration-name-too-long = This is too long for a name: at most 100 characters, please.
registration-name-is-a-button = This is a button, not a name. What is your first and last name?
registration-phone = Your phone number? Press the button below, or write the number.
registration-share-button = 📱 Share my number
registration-phone-taken = Thank you. Your number: { $phone }
registration-phone-of-another = This is somebody else's contact. Please share your own number with the button, or write it.
registration-phone-not-understood = I do not recognise this number. Please write it with the country code, like +7 999 123-45-67.
registration-email = Your email address? You may skip this.
registration-email-not-understood = This does not look like an email address. Please write it like name@example.com, or skip this step.
registration-kind = Which document will you show?
registration-passport-button = Passport
registration-licence-button = Driving licence
registration-selfie-button = Selfie
registration-send-passport = Send a photo of your passport: the page with your picture, in focus and whole.
registration-send-licence = Send a photo of your driving licence: the front side, in focus and whole.
registration-send-selfie = Now a selfie, please: your face, well lit.
registration-not-a-picture = I need one picture here: a photo, or an image as a file.
registration-too-large = This file is too large: at most { $most } MB, please.
registration-same-picture = This is the same picture as your document. I need a photo of your face.
registration-same-as-selfie = This is the same picture as your selfie. I need a photo of your document.
registration-text-wanted = Please answer with a text.
registration-button-wanted = Please choose one of the buttons.
registration-saving = One moment, please: I am saving your registration…
registration-still-saving = I am still saving your registration. I will write as soon as it is done.
registration-done = Done! Your registration is being looked at. I will write to you as soon as it is decided.
registration-not-saved = Your registration could not be saved. What you have entered is kept: you can try again now, or later with /start.
registration-passport-not-an-image = The file you sent as your passport is not an image I can read (JPEG, PNG, WebP or HEIC). Please send it once more.
registration-licence-not-an-image = The file you sent as your driving licence is not an image I can read (JPEG, PNG, WebP or HEIC). Please send it once more.
registration-selfie-not-an-image = The file you sent as your selfie is not an image I can read (JPEG, PNG, WebP or HEIC). Please send it once more.
registration-known-already = You are registered already.
registration-cancelled = Cancelled, and nothing is kept. /start begins again.
registration-timed-out = A day has passed, so I have deleted what you had entered. /start begins your registration again.
registration-once-more = Your last registration was declined: { $reason } You can register again.

# Deciding.
registration-waiting-button = 📝 Registrations
registration-new =
    New registration: { $name }
    Telegram number: { $id }
    { $since }
registration-waits =
    { $name }
    Telegram number: { $id }
    waiting since { $since }
registration-count = { $count ->
    [one] { $count } registration is waiting.
   *[other] { $count } registrations are waiting.
}
registration-nobody-waits = No registrations are waiting.
registration-approve-button = ✅ Approve
registration-reject-button = ❌ Reject
registration-papers-button = 🪪 Documents
registration-no-papers = There are no documents to show here.
registration-reason = Why do you reject { $name }? The person will read your answer. /cancel leaves everything as it is.
registration-reason-bad = Please write the reason in 1 to { $most } characters.
registration-approved-by-you = Approved: { $name }
registration-rejected-by-you = Rejected: { $name }
registration-approved-already-toast = Already approved by { $name }.
registration-rejected-already-toast = Already rejected by { $name }.
registration-out-of-date-toast = This is out of date: the registration has changed.
registration-approved = Welcome to the team! Your registration is approved.
registration-rejected =
    Your registration was declined.
    Reason: { $reason }
    You can register again with /start.

# Pages.
registration-nav = Registrations
registration-card = registrations waiting
registration-since = Waiting since
registration-changed = Nothing was decided: the documents have changed since you opened the page. Please look at them first.
registration-shown-of = { $shown } of { $count } are shown, the longest waiting first; the others follow as you decide.
registration-reason-hint = The person reads the reason in the chat, and can register again.
registration-documents = Documents
registration-document-of = Whose it is
registration-document-sent = Sent
registration-document-size = Size
registration-document-private = Only owners and superadmins see documents.
registration-kilobytes = { $size } KB
registration-other-documents = Other documents of this person
registration-cannot-show = Browsers do not show { $type }. Download the file to look at it.
registration-download = Download
registration-decide = Decide on the registration
registration-no-documents = There are no documents.
registration-reason-label = Reason of the rejection
registration-document-pending = waiting
registration-document-approved = approved
registration-document-rejected = rejected
