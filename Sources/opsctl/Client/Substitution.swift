internal import OpsWire

/// Fills `${K}` inside the strings of JSON text; `$${K}` stays as `${K}`.
struct Substitution {
    private let values: [String: [UInt8]]

    init(_ pairs: [Pair]) {
        var values: [String: [UInt8]] = [:]
        for pair in pairs {
            var text = JSONWriter()
            text.string(pair.value)
            values[pair.key] = Array(text.bytes.dropFirst().dropLast())
        }
        self.values = values
    }

    /// `$` occurs in JSON nowhere but in strings, so the text need not be understood for this.
    func fill(_ bytes: [UInt8], of path: String) throws(Failure) -> [UInt8] {
        var filled: [UInt8] = []
        filled.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            guard bytes[index] == UInt8(ascii: "$"), index + 1 < bytes.count else {
                filled.append(bytes[index])
                index += 1
                continue
            }
            if bytes[index + 1] == UInt8(ascii: "$"), index + 2 < bytes.count, bytes[index + 2] == UInt8(ascii: "{") {
                filled.append(contentsOf: Array("${".utf8))
                index += 3
                continue
            }
            guard bytes[index + 1] == UInt8(ascii: "{"),
                let end = bytes[index...].prefix(256).firstIndex(of: UInt8(ascii: "}")),
                bytes[index + 2..<end].allSatisfy(Self.isOfName), end > index + 2
            else {
                // `${X:-y}` and the like are the shell's.
                filled.append(bytes[index])
                index += 1
                continue
            }
            let name = String(decoding: bytes[index + 2..<end], as: UTF8.self)
            guard let value = values[name] else {
                throw unknown(name, line: bytes[..<index].count { $0 == 0x0a } + 1, path)
            }
            filled.append(contentsOf: value)
            index = end + 1
        }
        return filled
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "-"): true
        default: false
        }
    }

    private func unknown(_ name: String, line: Int, _ path: String) -> Failure {
        let near = Nearest.name(to: name, among: values.keys.sorted())
        return Failure(
            .refused, "\(path == "-" ? "standard input" : path):\(line)", "${\(name)} has no value",
            near.map { "did you mean ${\($0)}?" } ?? "give it one with --set \(name)=VALUE")
    }
}
