# Statuses of an order
orders-status-new = New
orders-status-assigned = Assigned
orders-status-accepted = Accepted
orders-status-on-site = On site
orders-status-long-repair = Long repair
orders-status-closed = Closed
orders-status-refused = Cancelled

# Mistakes in fields
orders-bad-equipment-empty = What needs repair? For example: washing machine.
orders-bad-equipment-long = Keep the name of the equipment to 100 characters.
orders-bad-description-short = Describe the problem in at least 10 characters.
orders-bad-description-long = Keep the description to 2,000 characters.
orders-bad-name-short = Enter the client's full name, at least 5 characters.
orders-bad-name-long = Keep the client's name to 100 characters.
orders-bad-address-short = Enter the full address, at least 10 characters.
orders-bad-address-long = Keep the address to 500 characters.
orders-bad-address-digit = Add the house number to the address.
orders-bad-phone = Enter a phone number with 10 digits, for example +7 999 123-45-67.
orders-bad-phone-foreign = Only Russian phone numbers work here: +7 and 10 digits.
orders-bad-notes-long = Keep the notes to 1,000 characters.
orders-bad-time-past = Choose a time that is still to come.
orders-bad-time-far = Choose a time within the next two years.
orders-bad-reason = Give a reason of up to 300 characters.
orders-bad-message = Write a message of up to 1,000 characters.

# Why something was not done
orders-why-stale-toast = The order has changed meanwhile. Take another look and try again.
orders-why-gone-toast = There is no such order.
orders-why-not-allowed-toast = You can't do this with this order.
orders-why-status-toast = That isn't possible at this stage of the order.
orders-why-taken-toast = Another master already has this order.
orders-why-no-master-toast = Choose a master who can take orders right now.
orders-why-materials-toast = Materials can't cost more than the total.
orders-why-amount-toast = Check the amounts: none below zero or above a million, and the total must match the lines.
orders-why-photo-before-toast = Add a photo taken before the work first.
orders-why-photo-after-toast = Add a photo of the finished work first.
orders-why-checklist-toast = Complete the required checklist items first.
orders-why-confirmation-toast = The client has to confirm this amount first, or mark it as paid in cash.
orders-why-files-toast = This order already has as many files as it can hold.
orders-why-no-item-toast = This item no longer exists.
orders-why-stars-toast = Choose one to five stars, with a comment of up to 1,000 characters.
orders-why-past-toast = Choose a time that is still to come and not too far ahead.
orders-why-rule-toast = This repetition doesn't work. Choose daily, weekly, monthly or yearly.
orders-why-clients-off-toast = Orders can't be placed in the bot right now. Please call us.
orders-why-exists-toast = This already exists.

# Reasons that the program gives
orders-reason-master-gone = The master no longer has access.
orders-reason-client-gone = The client asked us to delete their data.
orders-reason-handed-over = The order was given to another master.

# News
orders-no-time = no time set
orders-news-assigned = 🔧 Order no. { $number } is yours. Time: { $when }. Please accept or decline it.
orders-news-offered = 🔔 Order no. { $number } is available. Take it by { $until }.
orders-news-offer-over = Order no. { $number } is no longer available.
orders-news-taken-back = Order no. { $number } is no longer yours.
orders-news-unaccepted = ⏳ Order no. { $number } has been waiting for your answer for { $minutes } min.
orders-news-from-client = 🆕 A client placed order no. { $number }. Please confirm it.
orders-news-from-rule = 🔁 Order no. { $number } was created on schedule.
orders-news-declined = { $name } declined order no. { $number }: { $reason }
orders-news-master-gone = { $name } no longer has access. Order no. { $number } needs another master.
orders-news-taken = { $name } took order no. { $number }.
orders-news-no-taker = ❗ No one took order no. { $number }. Please assign it.
orders-news-overdue = ⏰ Order no. { $number } has had the status “{ $status }” for { $hours } h.
orders-news-unaccepted-by = ⏳ { $name } hasn't answered on order no. { $number } for { $minutes } min.
orders-news-low-rating = ⚠ Order no. { $number } got a low rating: { $stars } of 5.
orders-news-refused = Order no. { $number } was cancelled: { $reason }
orders-news-rescheduled = 📅 Order no. { $number } was moved. New time: { $when }. { $reason }
orders-news-message = 💬 Order no. { $number }: { $text }
orders-news-confirmed = ✅ We've confirmed your order no. { $number } and are looking for a master.
orders-news-master-found = 👷 { $name } will take care of your order no. { $number }. Time: { $when }.
orders-news-on-the-way = 🚗 The master is on the way for order no. { $number } and will arrive at about { $arrives }.
orders-news-amount-asked = Order no. { $number } comes to { $total }. Please confirm the amount.
orders-news-amount-confirmed = ✅ The client confirmed { $total } for order no. { $number }.
orders-news-long-repair = 🛠 The repair of order no. { $number } takes longer: until { $until }.
orders-news-finished = ✅ Order no. { $number } is done. Total: { $total }. How did it go?

# Settings
orders-setting-clients = Clients can place orders in the bot
orders-setting-clients-about = People who aren't on the team can order a repair. A dispatcher confirms each order.
orders-setting-small = Master's share of a usual order, %
orders-setting-large = Master's share of a large order, %
orders-setting-large-from = A large order begins at, { CURRENCY() }
orders-setting-share-about = Of the total without materials. Applies to orders that are closed after the change.
orders-setting-review = Extra share for a client's review, %
orders-setting-town = Extra share for a trip out of town, %
orders-setting-extra-about = Added to the master's share.
orders-setting-before = A photo before the work is required
orders-setting-after = A photo of the finished work is required
orders-setting-checklist = Required checklist items must be done
orders-setting-needs-about = An order can't be closed without it.
orders-setting-confirmed = The amount must be confirmed
orders-setting-confirmed-about = The client confirms the amount in the bot, or the master marks it as paid in cash.
