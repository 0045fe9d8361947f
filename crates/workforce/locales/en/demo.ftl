# The welcome of `opora demo`, in a terminal.
demo-running = Opora { $version }: the demo is running. Open in your browser:
demo-chat = Chat with the bot
demo-cabinet = Dashboard
demo-admin = Admin page
demo-write = In the chat, choose a person and press “Start”.
demo-sign-in = To sign in to the dashboard, enter one of these IDs and any six digits as the PIN:
demo-newcomers = Newcomers who can register in the chat: { $names }.
demo-data = Your data is in { $folder }. To start over, run the demo with --fresh.
demo-log = The log is in { $file }.
demo-stop = To stop, press Ctrl-C.
demo-newcomer = newcomer

# The tour on the chat page.
demo-tour-chats = Each chat is one person's phone
demo-tour-chats-about = Choose a person on the left and press “Start”. Their role is beside the name. No Telegram is needed: not one message leaves this machine.
demo-tour-shift = Clock in as an employee
demo-tour-shift-about = Edgar works at the coffee house. Press “Clock in” and share a location: the coffee house is among the ready-made places. Then tick off tasks and clock out.
demo-tour-newcomer = Welcome a newcomer
demo-tour-newcomer-about = Zachary is not on the team yet. Register for him, then approve the registration in the dashboard or in Anna's chat. Irina and Kirill have applied already.
demo-tour-cabinet = Open the dashboard
demo-tour-cabinet-about = Sign in as the owner: ID 1001, any six digits as the PIN. There are six weeks of history: schedule, shifts, cancellations and pay.
demo-tour-failures = Break something
demo-tour-failures-about = The inspector at the top shows every call of the bot and can inject faults. You can also stop the demo in the middle of a conversation: the bot continues where it was.
