internal import OpsSystem
internal import OpsWire

/// Replaces the values of secrets in the output of an operation by `***`, also if a value arrives in several pieces.
///
/// The values are read now, from the same files that the operation read. If a file has changed since, its earlier value
/// is not masked.
struct SecretMask {
    /// Values, the longest first, so that no value hides a longer one that begins with it.
    private let values: [[UInt8]]
    /// End of the output so far, if it may be the beginning of a value.
    private var held: [UInt8] = []
    private static let largest = 64 << 10
    /// Directory of the credentials of opsd's unit, which root can read.
    private static let credentials = "/run/credentials/opsd.service"
    private static let stars = Array("***".utf8)

    /// - Parameter secrets: The secrets as `Show` reports them; relative paths are relative to `directory`.
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

    /// Returns nil if the file does not exist or this user may not read it; then the user cannot see the value either.
    /// The submitter has chosen the path, even if root looks at the output.
    private static func value(_ path: String) -> [UInt8]? {
        guard let file = try? Files.readOrdinary(path, limit: largest + 1) else { return nil }  // as said above
        return file.last == UInt8(ascii: "\n") ? file.dropLast() : file
    }

    var isEmpty: Bool { values.isEmpty }

    /// Returns the part of the output that can be shown now.
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

    /// Returns the output that was held back, because no more follows.
    mutating func finish() -> [UInt8] {
        defer { held = [] }
        return held
    }
}
