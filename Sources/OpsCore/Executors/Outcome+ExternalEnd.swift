extension Outcome {
    /// Returns the outcome for the end that an engine has decided.
    init(_ outcome: ExternalEnd.Outcome) {
        self =
            switch outcome {
            case .interrupted: .interrupted
            case .timedOut: .timedOut
            case .cancelled: .cancelled
            case .outOfMemory: .failed
            }
    }
}
