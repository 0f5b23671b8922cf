/// A variable whose value is not stored: it is read when the process of the operation starts.
public struct Secret: Hashable, Sendable {
    public enum Source: Hashable, Sendable {
        /// Path of a file, relative to the directory of the operation.
        case file(String)
        /// Name of a systemd credential of opsd.
        case credential(String)
    }

    public let name: String
    public let source: Source

    static func list(from scanner: inout JSONScanner) throws(JSONError) -> [Secret] {
        scanner.skipSpace()
        let start = scanner.position
        var secrets: [Secret] = []
        var names: Set<String> = []
        var errors: [JSONError] = []
        try scanner.beginObject()
        while let text = try scanner.nextMember() {
            let name = scanner.string(text)
            guard secrets.count < Limits.secrets else {
                throw scanner.error(.refused("at most \(Limits.secrets) are possible"), at: text.start - 1)
                    .after(errors)
            }
            let before = scanner.state
            do throws(JSONError) {
                guard names.insert(name).inserted else {
                    throw scanner.error(.duplicateKey(name), at: text.start - 1)
                }
                if let complaint = NameSyntax.complaint(aboutVariable: name, value: "") {
                    throw scanner.error(.refused(complaint), at: text.start - 1)
                }
                secrets.append(Secret(name: name, source: try Source(from: &scanner)))
            } catch {
                try scanner.resume(after: error.inside(name), at: before, &errors)
            }
        }
        try scanner.finish(valueAt: start, errors)
        return secrets
    }

    static func write(_ secrets: [Secret], to writer: inout JSONWriter) {
        writer.key("secrets")
        writer.beginObject()
        for secret in secrets {
            writer.key(secret.name)
            writer.beginObject()
            switch secret.source {
            case .file(let path): writer.member("file", path)
            case .credential(let name): writer.member("credential", name)
            }
            writer.endObject()
        }
        writer.endObject()
    }
}

extension Secret.Source {
    fileprivate init(from scanner: inout JSONScanner) throws(JSONError) {
        _ = try scanner.peek()
        let start = scanner.position
        var sources: [Self] = []
        try scanner.members(of: ["file", "credential"]) { (key, scanner) throws(JSONError) in
            if key == "file" {
                sources.append(.file(try scanner.path()))
            } else {
                sources.append(.credential(try scanner.name()))
            }
        }
        guard sources.count == 1, let source = sources.first else {
            throw scanner.error(.refused("needs either \"file\" or \"credential\""), at: start)
        }
        self = source
    }
}
