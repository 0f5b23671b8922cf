import OpsExecutor
import OpsModel
import OpsSlurm

/// Tests of one attempt, at instants that they make up.
protocol TestsOfAttempts {}

extension TestsOfAttempts {
    static var attempt: AttemptID { AttemptID(OperationID(12), 1) }

    static func at(_ seconds: Int64) -> Moment {
        Moment(monotonic: .zero + .seconds(1000 + seconds), wall: .zero + .seconds(5000 + seconds))
    }

    static func reports(_ effects: [JobTracker.Effect]) -> [ExecutorReport] {
        effects.compactMap { if case .report(let report) = $0 { report } else { nil } }
    }
}
