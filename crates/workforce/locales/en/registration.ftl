# Registration: what newcomers are asked, and what becomes of it.
registration-language = Let's get to know each other. Which language do you prefer?
registration-resume = You've started registering: { $done } of { $all } steps done. Continue?
registration-continue-button = Continue
registration-over-button = Start over
registration-back-button = ← Back
registration-back-said = Back one step.
registration-skip-button = Skip
registration-skipped = (skipped)
registration-name = What's your first and last name?
registration-name-too-short = Please write your name in letters, at least two.
registration-name-too-long = That's too long for a name. Please keep it to 100 characters.
registration-name-is-a-button = That's a button, not a name. What's your first and last name?
registration-phone = What's your phone number? Press the button below or type the number.
registration-share-button = 📱 Share my number
registration-phone-taken = Thank you. Your number: { $phone }
registration-phone-of-another = That's someone else's contact. Please share your own number with the button, or type it.
registration-phone-not-understood = I don't recognise this number. Please include the country code, like +7 999 123-45-67.
registration-email = What's your email address? You can skip this step.
registration-email-not-understood = This doesn't look like an email address. Write it like name@example.com, or skip this step.
registration-kind = Which document will you send?
registration-passport-button = Passport
registration-licence-button = Driving licence
registration-selfie-button = Selfie
registration-send-passport = Send a photo of your passport: the whole photo page, in focus.
registration-send-licence = Send a photo of your driving licence: the whole front side, in focus.
registration-send-selfie = Now send a selfie: your face, well lit.
registration-not-a-picture = Please send one picture: a photo, or an image as a file.
registration-too-large = This file is too large. Please send one of { $most } MB or less.
registration-same-picture = This is the same picture as your document. Please send a photo of your face.
registration-same-as-selfie = This is the same picture as your selfie. Please send a photo of your document.
registration-text-wanted = Please answer with text.
registration-button-wanted = Please press one of the buttons.
registration-saving = One moment, please: saving your registration…
registration-still-saving = Still saving your registration. I'll write as soon as it's done.
registration-done = Done! Your registration is awaiting approval. I'll write as soon as there's a decision.
registration-not-saved = Your registration couldn't be saved. Everything you entered is still here: try again now, or later with /start.
registration-passport-not-an-image = I can't open the photo of your passport: it has to be JPEG, PNG, WebP or HEIC. Please send it again.
registration-licence-not-an-image = I can't open the photo of your driving licence: it has to be JPEG, PNG, WebP or HEIC. Please send it again.
registration-selfie-not-an-image = I can't open your selfie: it has to be JPEG, PNG, WebP or HEIC. Please send it again.
registration-known-already = You're already registered.
registration-cancelled = Registration stopped, nothing was saved. Send /start to start again.
registration-timed-out = A day has passed, so I deleted what you had entered. Send /start to register again.
registration-once-more = Your last registration was rejected: { $reason } You can register again.

# Consent to the processing of personal data.
registration-consent-default =
    To take you on, we need some of your personal data: your name, phone number, email address (optional), a photo of a document and a selfie.

    We keep it to review your registration, to draw up your contract and to pay you. Only owners and superadmins can see your documents. We delete your data when you ask us to.

    By pressing “I agree” you consent to the processing of your personal data (Federal Law No. 152-FZ). You can withdraw your consent: just write to the owner.
registration-agree-button = I agree
registration-disagree-button = I don't agree
registration-agreed = ✓ You agreed.
registration-consent-changed = The text changed while you were reading. Please read the new one.
registration-consent-refused = Fair enough. I can't register you without your consent, so nothing was saved. If you change your mind, send /start.
registration-discard-button = Delete my answers
registration-paused = Stopped. Your answers are saved for a day; send /start to continue.

registration-still-waits = Okay, { $name } is still awaiting a decision.
registration-no-site-yet = You'll be assigned a site soon, and I'll write to you. Then you can pick up shifts.
registration-your-sites = { $count ->
    [one] Your site: { $sites }.
   *[other] Your sites: { $sites }.
    } You can pick up a shift now.
registration-which-site = Which site will they work at? Choose one and I'll draw up the contract. The site's rate applies; you can change it in the dashboard.
registration-contract-given = Contract created: { $name }, { $site }. I've told them that they can pick up shifts.

# Deciding.
registration-waiting-button = 📝 Registrations
registration-new =
    New registration: { $name }
    Telegram ID: { $id }
    { $since }
registration-waits =
    { $name }
    Telegram ID: { $id }
    waiting since { $since }
registration-count = { $count ->
    [one] { $count } registration awaiting approval.
   *[other] { $count } registrations awaiting approval.
}
registration-none-waiting = No registrations awaiting approval.
registration-approve-button = ✅ Approve
registration-reject-button = ❌ Reject
registration-papers-button = 🪪 Documents
registration-no-papers = No documents.
registration-reason = Why are you rejecting { $name }? They will read your answer.
registration-reason-bad = Please write a reason, 1 to { $most } characters.
registration-approved-by-you = Approved: { $name }
registration-rejected-by-you = Rejected: { $name }
registration-rejected-card =
    Rejected: { $name }
    Reason: { $reason }
registration-approved-already-toast = Already approved by { $name }.
registration-rejected-already-toast = Already rejected by { $name }.
registration-out-of-date-toast = This registration has changed since. Please open it again.
registration-approved = Welcome to the team! Your registration has been approved.
registration-rejected =
    Your registration was rejected.
    Reason: { $reason }
    Send /start to register again.

# Pages.
registration-nav = Registrations
registration-approve = Approve
registration-reject = Reject
registration-card = { $count ->
    [one] { $count } registration awaiting approval
   *[other] { $count } registrations awaiting approval
}
registration-since = Waiting since
registration-changed = Your decision was not saved: the documents changed while the page was open. Please look at them first.
registration-shown-of = Showing { $shown } of { $count }, oldest first. The others will appear as you decide.
registration-reason-hint = They will read the reason in the chat and can register again.
registration-documents = Documents
registration-document-of = Person
registration-document-sent = Sent
registration-document-size = Size
registration-document-private = Only owners and superadmins can see documents.
registration-kilobytes = { $size } KB
registration-other-documents = This person's other documents
registration-cannot-show = Browsers can't show { $type }. Download the file to view it.
registration-download = Download
registration-decide = Review the registration
registration-no-documents = No documents.
registration-reason-label = Reason for rejection
registration-document-pending = awaiting approval
registration-document-approved = approved
registration-document-rejected = rejected
registration-contract = Where they will work
registration-contract-about = Tick the sites, and the contract is created with the approval. You can also add it later.
registration-page-approved-at = { $name } is approved and has a contract ({ $sites }). I've told them that they can pick up shifts.
registration-page-approved = { $name } is approved. They need a contract to pick up shifts.
registration-page-rejected = { $name } is rejected. I've passed on the reason.
registration-open-person = Open the person's page
registration-next = Next registration
registration-consent-given = Consent to the processing of personal data:
registration-consent-version = version { $version }
registration-valid-until = valid until { $day }
registration-expiring = Documents that expire soon
registration-expires = expires { $day }
registration-expired = expired { $day }
registration-valid-until-label = Valid until
registration-valid-until-optional = Document valid until (optional)
registration-valid-until-about = From 30 days before this date the document has a warning badge. Leave it empty for no date.
registration-validity-saved = Date saved.
