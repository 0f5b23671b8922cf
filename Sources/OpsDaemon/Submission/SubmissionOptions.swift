internal import OpsCore
internal import OpsWire

/// Options of a submission, beside its operations.
struct SubmissionOptions: Sendable {
    var name: String?
    var defaults: [UInt8]?
    var capture: Capture?
    /// Operation whose process made the submission.
    var inside: Int64?
    var asChild = false
    var key: String?
    var unlessActive: String?
    var isDryRun = false
    var wantsList = false
    /// Order among operations of equal priority that the graph asks for; nil: that of each queue.
    var order: QueueOrder? { orderText.flatMap(QueueOrder.init(text:)) }
    var orderText: String?
    /// JSON of the observers of the graph.
    var observers: [UInt8]?
    /// Variables that opsd sets: of the run of a schedule.
    var variables = StringMap()

    init() {}

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
        orderText = request.order
        observers = request.observers?.bytes
    }
}

extension SubmissionOptions {
    /// Returns the idempotency key of the submission: its own, or the one that its operations share.
    func key(of input: GraphInput) throws(ControlError) -> String? {
        if key != nil || unlessActive != nil { return key }
        let keys = Set(input.keys.map(\.key))
        guard keys.count <= 1 else {
            throw .invalidOperation([
                .with {
                    $0.key = "key"
                    $0.message = "a submission has one idempotency key; this one has \(keys.count)"
                }
            ])
        }
        return keys.first
    }
}
