/// Every verb, in the order of help.
enum VerbTable {
    static let all: [Verb] = [
        SubmitVerb.verb, RunVerb.verb,
        LsVerb.verb, ShowVerb.verb, WhyVerb.verb, StatusVerb.verb, LogVerb.verb, OutputsVerb.verb, WaitVerb.verb,
        WatchVerb.verb,
        GraphVerb.verb, StatsVerb.verb, MetricsVerb.verb, ExportVerb.verb, TopVerb.verb, WebVerb.verb,
        ScheduleVerb.verb,
        CancelVerb.verb, SuspendVerb.verb, SuspendVerb.resume, RetryVerb.verb, FinishVerb.verb, SetVerb.verb,
        SignalVerb.verb, TellVerb.verb,
        DependVerb.verb, NoteVerb.verb,
        QueueVerb.verb, CategoryVerb.verb, ExecutorVerb.verb, WorkersVerb.verb, PruneVerb.verb, BackupVerb.verb,
        CheckVerb.verb,
        SchemaVerb.verb,
        CompletionVerb.verb, BridgeVerb.verb, VersionVerb.verb, HelpVerb.verb, CompletionVerb.candidates, HostVerb.verb,
        ManVerb.verb,
    ]

    static var shown: [Verb] { all.filter { !$0.isHidden } }

    /// Returns a verb without making the others: most runs of opsctl need only one.
    static func verb(named word: String) -> Verb? {
        switch word {
        case "submit": SubmitVerb.verb
        case "run": RunVerb.verb
        case "ls", "list": LsVerb.verb
        case "show": ShowVerb.verb
        case "why": WhyVerb.verb
        case "status": StatusVerb.verb
        case "log", "logs": LogVerb.verb
        case "outputs": OutputsVerb.verb
        case "wait": WaitVerb.verb
        case "watch", "events": WatchVerb.verb
        default: all.first { $0.name == word || $0.aliases.contains(word) }
        }
    }
}
