# The questionnaire, and questions to whoever is in charge.
onboarding-begin-button = 📝 Questionnaire
onboarding-offer = There is a short questionnaire for everybody who is new. It takes a few minutes, and you can pause at any time.
onboarding-consent = { $count ->
        [one] I would like to ask you { $count } question.
       *[other] I would like to ask you { $count } questions.
    } Your answers are kept, and the owner of the business sees them. You can skip some of them, pause and go on later. Do you agree?
onboarding-agree-button = I agree
onboarding-decline-button = No, thank you
onboarding-declined = All right, I will not ask. If you change your mind, the questionnaire is in the menu.
onboarding-go-on = Let us go on where we were.
onboarding-over = This questionnaire is not open any more.
onboarding-paused = Paused. Everything you have answered is kept; go on whenever you like.
onboarding-timed-out = I have put the questionnaire aside. Everything you have answered is kept: press the button, or just write to me, and we go on.
onboarding-undecided = You have not decided yet. The questionnaire is here whenever you like.
onboarding-waiting-toast = The question is waiting for your answer.
onboarding-back-button = ← Back
onboarding-keep-button = Leave it so →
onboarding-skip-button = Skip
onboarding-pause-button = ⏸ Pause
onboarding-text-hint = Please answer in words, in { $count } characters at most.
onboarding-number-hint = A whole number from { $min } to { $max }, please.
onboarding-button-hint = Please choose by one of the buttons.
onboarding-summary = Thank you, that was all! Your answers:
onboarding-skipped = (skipped)
onboarding-done = You have completed the questionnaire. If you have a question yourself, ask it here.

chat-open-button = 💬 Ask a question
chat-close-button = Close the conversation
chat-reply-button = Reply
chat-open = Write your question: I will pass it on to the person in charge, and bring the answer here.
chat-write-toast = Just write your question.
chat-sent = Passed on to { $name }.
chat-nobody = There is nobody in charge whom I could ask. Please try again later.
chat-too-long = Please write { $count } characters at most.
chat-question = { $name } writes:
chat-answer = Write your answer to { $name }. /cancel if you would rather not.
chat-answer-from = { $name } answers:
chat-write-answer-toast = Just write your answer.
chat-closed = The conversation is closed.
chat-closed-by = { $name } has closed the conversation.
chat-closed-toast = This conversation is closed already.
chat-timed-out = I have put our conversation aside. An answer will still reach you here.
chat-answer-timed-out = You have not answered yet. The question is still open.

# Pages.
onboarding-section = Questionnaire
onboarding-not-begun = Not begun yet.
onboarding-earlier = An earlier one
onboarding-answered = { $answered } of { $all } answered
onboarding-status-active = under way
onboarding-status-paused = paused
onboarding-status-completed = completed
onboarding-status-declined = declined
