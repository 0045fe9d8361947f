# The questionnaire, and questions to the person in charge.
onboarding-begin-button = 📝 Questionnaire
onboarding-offer = Please fill in a short questionnaire for new team members. It takes a few minutes, and you can pause any time.
onboarding-consent = { $count ->
        [one] The questionnaire has { $count } question.
       *[other] The questionnaire has { $count } questions.
    } Your answers are saved, and the owner sees them. You can skip some questions, pause and continue later. Do you agree?
onboarding-agree-button = I agree
onboarding-decline-button = No, thank you
onboarding-declined = Okay, no questionnaire. If you change your mind, it's in the menu.
onboarding-go-on = Let's continue where we left off.
onboarding-over = This questionnaire is already closed.
onboarding-paused = Paused. All your answers are saved; continue whenever you like.
onboarding-timed-out = I've paused the questionnaire. All your answers are saved: press the button or just write to me, and we'll continue.
onboarding-undecided = The questionnaire can wait. Fill it in whenever you like.
onboarding-waiting-toast = The question is waiting for your answer.
onboarding-back-button = ← Back
onboarding-keep-button = Keep it →
onboarding-skip-button = Skip
onboarding-pause-button = ⏸ Pause
onboarding-text-hint = Please answer with text, up to { $count } characters.
onboarding-number-hint = Please write a whole number from { $min } to { $max }.
onboarding-button-hint = Please press one of the buttons.
onboarding-summary = Thank you, that's all! Your answers:
onboarding-skipped = (skipped)
onboarding-done = You've completed the questionnaire. If you have a question, ask it here.

chat-open-button = 💬 Ask a question
chat-close-button = End the conversation
chat-reply-button = Reply
chat-open = Write your question: I'll pass it on to the person in charge and bring the answer here.
chat-write-toast = Just write your question.
chat-sent = Passed on to { $name }.
chat-no-one-available = No one is available to answer right now. Please try again later.
chat-too-long = Please keep it to { $count } characters.
chat-question = { $name } writes:
chat-answer = Write your answer to { $name }.
chat-answer-from = { $name } answers:
chat-write-answer-toast = Just write your answer.
chat-closed = The conversation has ended.
chat-closed-by = { $name } ended the conversation.
chat-closed-toast = This conversation has already ended.
chat-left = Okay, no question was sent.
chat-left-open = Okay. Our conversation stays open: you'll get the answer here.
chat-timed-out = I've put our conversation aside. You'll still get the answer here.
chat-answer-timed-out = You haven't answered yet. The question is still open.

# Pages.
onboarding-section = Questionnaire
onboarding-not-begun = Not started yet.
onboarding-earlier = Earlier questionnaire
onboarding-answered = { $answered } of { $all } questions answered
onboarding-skipped-count = { $count } skipped
onboarding-status-active = in progress
onboarding-status-paused = paused
onboarding-status-completed = completed
onboarding-status-declined = declined
