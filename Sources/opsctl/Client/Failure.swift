internal import OpsWire

/// Exit status of opsctl.
struct ExitStatus: Equatable, Sendable {
    let code: Int32
    static let done = ExitStatus(code: 0)
    /// The request was carried out, but an operation did not succeed.
    static let unsuccessful = ExitStatus(code: 1)
    static let usage = ExitStatus(code: 2)
    static let unreachable = ExitStatus(code: 3)
    static let notFound = ExitStatus(code: 4)
    static let refused = ExitStatus(code: 5)
    static let storage = ExitStatus(code: 6)
    static let timedOut = ExitStatus(code: 7)
    /// `run`: the operation exceeded its timeout or deadline.
    static let operationTimedOut = ExitStatus(code: 124)
    /// `run`: the program was not found, or could not be executed.
    static let programNotFound = ExitStatus(code: 127)
    static let programNotExecutable = ExitStatus(code: 126)
    /// `run`: opsctl itself failed.
    static let own = ExitStatus(code: 125)
}

/// Reason why opsctl cannot do what it was asked, printed as `opsctl: subject: reason, advice`.
struct Failure: Error {
    var status: ExitStatus
    var what: String
    var why: String
    /// Advice on what the user can do.
    var advice: String?
    /// True if the daemon closed the connection during a call; it may come back.
    var isLoss = false
    /// True if the daemon, or this user's share of it, has no capacity at the moment.
    var isBusy = false
    /// True if the caller lacks a right.
    var isDenied = false
    /// All problems of a submission, if they are the reason.
    var problems: [LocatedProblem] = []

    init(_ status: ExitStatus, _ what: String, _ why: String, _ advice: String? = nil) {
        self.status = status
        self.what = what
        self.why = why
        self.advice = advice
    }

    static func usage(_ what: String, _ why: String, _ advice: String?) -> Failure {
        Failure(.usage, what, why, advice)
    }

    /// Returns the same failure after a submission was stored. Advice to try again would submit it a second time.
    func afterSubmission(_ advice: String) -> Failure {
        var failure = self
        failure.advice = advice
        return failure
    }

    /// The same failure for a submission of one operation, whose problems need not name the operation.
    var ofOne: Failure {
        var failure = self
        for index in failure.problems.indices { failure.problems[index].isOfMany = false }
        return failure
    }

    /// Lines for standard error: one, or one for each problem, and one more if there may be further problems.
    var lines: [String] {
        let subject = what.isEmpty || what == "opsctl" ? "opsctl: " : "opsctl: \(what.printable): "
        if !problems.isEmpty {
            let lines = problems.map { ($0.place.map { "opsctl: \($0.printable): " } ?? subject) + $0.text.printable }
            guard problems.count >= Limits.problems else { return lines }
            return lines + ["opsctl: the search for errors ended after \(Limits.problems); there may be more"]
        }
        return [subject + why.printable + (advice.map { ", " + $0.printable } ?? "")]
    }
}
