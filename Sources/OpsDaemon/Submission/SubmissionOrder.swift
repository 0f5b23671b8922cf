internal import OpsWire

/// What a submission says beside its operations.
struct SubmissionOrder {
    var name: String?
    var defaults: [UInt8]?
    var capture: Capture?
    /// The operation inside which it was made.
    var inside: Int64?
    var asChild = false
    var key: String?
    var unlessActive: String?
    var isDryRun = false
    var wantsList = false

    init(_ request: SubmitRequest) {
        name = request.name
        defaults = request.defaults?.bytes
        capture = request.capture
        inside = request.inside
        asChild = request.child ?? false
        key = request.key
        unlessActive = request.unlessActive
        isDryRun = request.dryRun ?? false
        wantsList = request.list ?? false
    }

    init(_ request: BeginSubmissionRequest) {
        name = request.name
        defaults = request.defaults?.bytes
        capture = request.capture
        inside = request.inside
        asChild = request.child ?? false
        key = request.key
        unlessActive = request.unlessActive
        isDryRun = request.dryRun ?? false
        wantsList = request.list ?? false
    }
}
