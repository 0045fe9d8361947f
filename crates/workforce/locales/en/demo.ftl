# The welcome of `opora demo`, in a terminal.
demo-running = Opora { $version }: the demo is running. Open in your browser:
demo-chat = Chat with the bot
demo-cabinet = Dashboard
demo-admin = Admin page
demo-write = In the chat, choose a person and press “Start”.
demo-sign-in = To sign in to the dashboard, enter one of these IDs and any six digits as the PIN:
demo-newcomers = Newcomers who can register in the chat: { $names }.
demo-data = Your data is in { $folder }. To start over, run the demo with --fresh.
demo-stop = To stop, press Ctrl-C.
