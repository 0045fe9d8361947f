# The front: the main menu, and what everybody can ask.
front-menu = { $name }, what would you like to do?
front-menu-empty = Hello, { $name }. There's nothing for your role here yet. New things will appear in this menu.
front-newcomer = Hello! We haven't met yet. Ask your manager to add you: your Telegram ID is { $id }.
front-newcomer-may-register = Hello! We haven't met yet. Send /start to register.
front-pending = Your registration is awaiting approval. I'll write as soon as there's a decision.
front-rejected = Your registration was rejected. Please talk to your manager.
front-blocked = Your access is blocked. If this is a mistake, please talk to your manager.
front-not-understood = I didn't get that. The menu shows what I can do.
front-keys-away = Okay.
front-language = Which language do you prefer?
front-language-is = We'll speak English from now on.
front-language-for-now = Until you register, I use the language of your Telegram.
front-help =
    I'm your team's assistant.

    /start – main menu
    /cabinet – link to the dashboard
    /language – change the language
    /quiet – when to stay silent
    /summary – daily summary, for owners
    /cancel – stop the current action
    /me – your ID and roles
    /help – this list
front-me = Your Telegram ID: { $id }
front-me-known =
    { $name }
    Your Telegram ID: { $id }
    Roles: { $roles }
front-no-roles = none
front-me-owner = Daily summary: /summary

role-applicant = applicant
role-employee = employee
role-master = technician
role-dispatcher = dispatcher
role-manager = manager
role-owner = owner
role-superadmin = superadmin

front-start-command = Main menu
front-cabinet-button = 🖥 Dashboard
front-cabinet-command = Open the dashboard
front-language-command = Change the language
front-cancel-command = Stop the current action
front-me-command = My ID and roles
front-quiet-command = Quiet hours
front-summary-command = Daily summary, for owners
front-help-command = Help

front-too-many-toast = Too many requests. Please wait and try again in { $seconds } s.

# Said in a group, where everybody reads the answer.
front-privately-toast = Others can read this here. Please write to me in private.
front-privately-button = ✉️ Write in private
