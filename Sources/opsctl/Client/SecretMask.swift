internal import OpsSystem
internal import OpsWire

/// Replaces the values of secrets in the output of an operation by `***`, also those that come in pieces.
///
/// The values are read now, from where the operation has read them: what that file had before is not known.
struct SecretMask {
    /// The longest first, so that a value is not taken for another that it begins with.
    private let values: [[UInt8]]
    /// The end of what has come, as far as it may be the beginning of a value.
    private var held: [UInt8] = []
    private static let largest = 64 << 10
    /// Directory of the credentials of opsd's unit, which root can read.
    private static let credentials = "/run/credentials/opsd.service"
    private static let stars = Array("***".utf8)

    /// `secrets`: as `Show` tells them. `directory`: the one that relative paths start from.
    init(_ secrets: JSONObject?, directory: String?) {
        var values: Set<[UInt8]> = []
        for secret in secrets?.members ?? [] {
            guard case .object(let members) = secret.value, let source = members.first,
                case .string(let name) = source.value
            else { continue }
            let place = source.key == "credential" ? Self.credentials : directory ?? ""
            let path = name.hasPrefix("/") ? name : place + "/" + name
            if let value = Self.value(path), !value.isEmpty { values.insert(value) }
        }
        self.values = values.sorted { $0.count > $1.count }
    }

    /// Nil where the file is not there, or not for this user: then its value is not this user's to see either. The submitter
    /// has chosen the path, also for root that looks at the output.
    private static func value(_ path: String) -> [UInt8]? {
        guard let file = try? Files.readOrdinary(path, limit: largest + 1) else { return nil }  // as said above
        return file.last == UInt8(ascii: "\n") ? file.dropLast() : file
    }

    var isEmpty: Bool { values.isEmpty }

    /// Returns what can be shown of the bytes that have come.
    mutating func take(_ bytes: [UInt8]) -> [UInt8] {
        if values.isEmpty { return bytes }
        let all = held + bytes
        var shown: [UInt8] = []
        var place = 0
        held = []
        while place < all.count {
            let rest = all[place...]
            if let value = values.first(where: { rest.starts(with: $0) }) {
                shown += Self.stars
                place += value.count
            } else if values.contains(where: { $0.count > rest.count && $0.starts(with: rest) }) {
                held = Array(rest)
                return shown
            } else {
                shown.append(all[place])
                place += 1
            }
        }
        return shown
    }

    /// Returns what was held back: nothing follows.
    mutating func finish() -> [UInt8] {
        defer { held = [] }
        return held
    }
}
