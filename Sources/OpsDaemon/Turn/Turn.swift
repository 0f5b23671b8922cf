internal import OpsCore
internal import OpsStore

/// Events, replies and effects that one turn of the loop has gathered: it is committed once, and nothing of it is
/// visible before.
struct Turn {
    /// Texts of the submissions that were taken, in the order the scheduler took them.
    var submissions: [SubmissionTexts] = []
    /// Records of instants of schedules that do not run.
    var records: [ScheduleWrite] = []
    /// Answers and reads that wait for the commit, in the order of their requests.
    var afterwards: [(_ isCommitted: Bool) -> Void] = []
    /// The scheduler was told something: its `endTurn` has work.
    var hasEvents = false
    /// True if no client waits for this turn's events: their commit may wait a moment and be shared.
    var hasPatientEvents = false
    /// About how many operations its facts decide or move.
    var weight = 0
    /// Facts of this turn that would not be reported again if the commit fails.
    var facts: [Event] = []

    /// The scheduler may know of things that the store does not know yet.
    var isAheadOfStore: Bool { hasEvents || hasPatientEvents }
}
