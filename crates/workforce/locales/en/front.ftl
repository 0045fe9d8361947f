# The front: the main menu, and what everybody can ask.
front-menu = { $name }, what would you like to do?
front-menu-empty = Hello, { $name }. There is nothing for your role here yet; new things will appear in this menu.
front-newcomer = Hello! I do not know you yet. Ask your manager to add you: your Telegram number is { $id }.
front-newcomer-may-register = Hello! I do not know you yet. /start begins your registration.
front-pending = Your registration is being looked at. I will write to you as soon as it is decided.
front-rejected = Your registration was declined. Please talk to your manager.
front-blocked = Your access is closed. If you think this is a mistake, please talk to your manager.
front-not-understood = I did not understand this. The menu shows what I can do.
front-keys-away = All right.
front-language = Which language shall I speak?
front-language-is = I speak English with you from now on.
front-language-for-now = I take the language from your Telegram until you are registered.
front-help =
    I am the assistant of your team.

    /start – the main menu
    /cabinet – a link to the web cabinet
    /language – another language
    /cancel – stop what we are doing
    /me – your number and your roles
    /help – this list
front-me = Your Telegram number: { $id }
front-me-known =
    { $name }
    Your Telegram number: { $id }
    Roles: { $roles }
front-no-roles = none

role-applicant = applicant
role-employee = employee
role-master = master
role-dispatcher = dispatcher
role-manager = manager
role-owner = owner
role-superadmin = superadmin

front-start-command = Main menu
front-cabinet-button = 🖥 Web cabinet
front-cabinet-command = Open the web cabinet
front-language-command = Language
front-cancel-command = Stop what we are doing
front-me-command = My number and roles
front-help-command = Help

front-too-many-toast = Too many requests at once. Please wait a moment: I will listen again in { $seconds } s.

# Said in a group, where everybody reads the answer.
front-privately-toast = Here others read along. Please write to me in private.
front-privately-button = ✉️ Write in private
