# Слова, общие для всех комнат.
minutes = { $count ->
    [one] { $count } минута
    [few] { $count } минуты
   *[many] { $count } минут
}
main-menu = 🏠 Главное меню
