# Words that all rooms share.
minutes = { $count ->
    [one] { $count } minute
   *[other] { $count } minutes
}
main-menu = 🏠 Main menu
