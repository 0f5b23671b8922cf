internal import OpsCore
internal import OpsStore

/// Events, replies and effects that one turn of the loop has gathered. They are committed together, and nothing of them
/// is visible before.
struct Turn {
    /// Texts of the accepted submissions, in the order in which the scheduler accepted them.
    var submissions: [SubmissionTexts] = []
    /// Records of instants of schedules that do not run.
    var records: [ScheduleWrite] = []
    /// Answers and reads that wait for the commit, in the order of their requests.
    var afterwards: [(_ isCommitted: Bool) -> Void] = []
    /// True if the scheduler has handled events, so that its `endTurn` has work.
    var hasEvents = false
    /// True if no client waits for this turn's events: their commit may wait a moment and be shared.
    var hasPatientEvents = false
    /// Weight of its facts: about how many operations they decide or move.
    var weight = 0
    /// Facts of this turn that would not be reported again if the commit fails.
    var facts: [Event] = []

    /// Makes it the next turn. The array of submissions is used again: to free and allocate it in each turn costs as much
    /// as to store some of them.
    mutating func clear() {
        submissions.removeAll(keepingCapacity: submissions.capacity <= 256)
        self = Turn(submissions: submissions)
    }

    /// True if the scheduler may know something that is not stored yet.
    var isAheadOfStore: Bool { hasEvents || hasPatientEvents }
}
