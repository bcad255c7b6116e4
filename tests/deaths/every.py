"""All cases, and the few writes that nobody is killed in."""

from tests.deaths import chat, people, questions, tasks, turns
from tests.deaths.case import Case

CASES: tuple[type[Case], ...] = (
    *(chat.SendMessage, chat.Broadcast, chat.RespondChat, chat.ReadMessages, chat.HumanReads),
    *(chat.FilesSettle, chat.SearchIndex),
    *(chat.StartConversation, chat.AnswerConversation, chat.EndConversation, chat.Attend),
    *(chat.HearOfTheEnd, chat.ConversationTimesOut, chat.ConversationLosesASide),
    *(chat.Delegate, chat.ReportDelegation, chat.DelegationTakenBack),
    *(tasks.CreateTask, tasks.UpdateTask, tasks.TakeTask, tasks.ReportCompleted),
    *(tasks.SilentSessionLosesItsTask, tasks.RequestTask, tasks.DecideRequest),
    *(tasks.AdjustTask, tasks.NotifyTask, tasks.ReadNotifications, tasks.ResultWithheld),
    *(tasks.LogIn, tasks.LogOut, tasks.TouchesFlushed, tasks.SessionExpires),
    *(tasks.SessionForgotten, tasks.NotificationsSwept),
    *(people.AddProject, people.AddAgent, people.AssignAgent, people.Rekey, people.AddToken),
    *(people.RevokeToken, people.AddTask, people.MoveTask, people.ApproveRequest),
    *(people.Notify, people.Announce, people.Claim, people.ClaimEnded, people.RevokeGrant),
    *(people.GiveCommand, people.AgUiRun, people.CommandsForgotten, people.EventsForgotten),
    *(questions.Denied, questions.PermissionNoted, questions.Asked, questions.Used),
    *(questions.AskedAtTheClient, questions.Withdrawn, questions.TimedOut),
    *(questions.ApprovedAtTheCommandLine, questions.QuestionsSwept),
    *(turns.Turn, turns.SecondTurn, turns.StoppedInATurn, turns.FoundAfterACrash),
)

NOT_KILLED = {
    "aipm_core.server.readiness:Readiness._ask": "is taken back in any case",
    "aipm_agent_loop.workers:Workers.serve": "changes nothing, it only wakes",
    "aipm_agent_loop.workers:Workers._work#2": "needs an error nobody knows; as Workers._work",
}

# One write of every plugin and two deaths each; each of the three moments often.
SHORT: tuple[tuple[type[Case], tuple[str, str]], ...] = (
    (chat.SendMessage, ("committed", "told")),
    (chat.StartConversation, ("inside", "committed")),
    (chat.ReportDelegation, ("committed", "told")),
    (tasks.RequestTask, ("inside", "committed")),
    (tasks.ReadNotifications, ("inside", "told")),
    (tasks.LogIn, ("inside", "committed")),
    (people.GiveCommand, ("committed", "told")),
    (questions.Used, ("inside", "committed")),
    (turns.Turn, ("inside", "committed")),
)
