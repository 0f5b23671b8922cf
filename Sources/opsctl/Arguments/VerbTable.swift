/// Every verb, in the order of help.
enum VerbTable {
    static let all: [Verb] = [
        SubmitVerb.verb, RunVerb.verb,
        LsVerb.verb, ShowVerb.verb, WhyVerb.verb, StatusVerb.verb, LogVerb.verb, WaitVerb.verb, WatchVerb.verb,
        CancelVerb.verb,
        QueueVerb.verb, CategoryVerb.verb, VersionVerb.verb, HelpVerb.verb,
    ]

    static var shown: [Verb] { all.filter { !$0.isHidden } }

    static func verb(named word: String) -> Verb? {
        all.first { $0.name == word || $0.aliases.contains(word) }
    }
}
