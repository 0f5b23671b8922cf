/// Errors in replies of opsd.
public enum ControlError: WireErrorCases {
    case invalidOperation([Problem])
    case notFound(kind: String, name: String, nearest: String?)
    /// Operations of the cycle in order, the first one repeated at the end, and the category if it is part of the
    /// cycle.
    case cycle([String], category: String?)
    case wrongState(id: Int64?, message: String)
    case permissionDenied(String)
    case storageUnavailable(String)
    case tooLarge(what: String, limit: Int)
    case busy(String)
    /// The reader was too slow; the events after this number were not sent.
    case lagged(resume: Int64)
    case timedOut(remaining: Int)

    public static let interface = ControlInterface.name
    public static let examples: [ControlError] = [
        .invalidOperation([]), .notFound(kind: "", name: "", nearest: nil), .cycle([], category: nil),
        .wrongState(id: nil, message: ""),
        .permissionDenied(""), .storageUnavailable(""), .tooLarge(what: "", limit: 0), .busy(""), .lagged(resume: 0),
        .timedOut(remaining: 0),
    ]

    public var name: String {
        switch self {
        case .invalidOperation: "InvalidOperation"
        case .notFound: "NotFound"
        case .cycle: "Cycle"
        case .wrongState: "WrongState"
        case .permissionDenied: "PermissionDenied"
        case .storageUnavailable: "StorageUnavailable"
        case .tooLarge: "TooLarge"
        case .busy: "Busy"
        case .lagged: "Lagged"
        case .timedOut: "TimedOut"
        }
    }

    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        switch self {
        case .invalidOperation(var problems):
            try visitor.field("problems", &problems)
            self = .invalidOperation(problems)
        case .notFound(var kind, var name, var nearest):
            try visitor.field("kind", &kind)
            try visitor.field("name", &name)
            try visitor.field("nearest", &nearest)
            self = .notFound(kind: kind, name: name, nearest: nearest)
        case .cycle(var path, var category):
            try visitor.field("path", &path)
            try visitor.field("category", &category)
            self = .cycle(path, category: category)
        case .wrongState(var id, var message):
            try visitor.field("id", &id)
            try visitor.field("message", &message)
            self = .wrongState(id: id, message: message)
        case .permissionDenied(var message):
            try visitor.field("message", &message)
            self = .permissionDenied(message)
        case .storageUnavailable(var message):
            try visitor.field("message", &message)
            self = .storageUnavailable(message)
        case .tooLarge(var what, var limit):
            try visitor.field("what", &what)
            try visitor.field("limit", &limit)
            self = .tooLarge(what: what, limit: limit)
        case .busy(var message):
            try visitor.field("message", &message)
            self = .busy(message)
        case .lagged(var resume):
            try visitor.field("resume", &resume)
            self = .lagged(resume: resume)
        case .timedOut(var remaining):
            try visitor.field("remaining", &remaining)
            self = .timedOut(remaining: remaining)
        }
    }
}
