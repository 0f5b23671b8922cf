internal import OpsSystem

/// Hosts in this user's ssh files, for completion.
enum KnownHosts {
    private static let limit = 1 << 20

    static var names: [String] {
        guard let home = Environment["HOME"], !home.isEmpty else { return [] }
        return Set(configured(text(home + "/.ssh/config")) + met(text(home + "/.ssh/known_hosts"))).sorted()
    }

    /// Returns the names of `Host` lines without patterns.
    static func configured(_ text: String) -> [String] {
        text.split(separator: "\n").flatMap { line -> [String] in
            let words = line.split { $0 == " " || $0 == "\t" || $0 == "=" }.map(String.init)
            guard words.first?.lowercased() == "host" else { return [] }
            return words.dropFirst().filter { !$0.contains { "*?!".contains($0) } }
        }
    }

    /// Returns the host names in known_hosts, without hashed names and addresses with ports.
    static func met(_ text: String) -> [String] {
        text.split(separator: "\n").flatMap { line -> [String] in
            guard let first = line.split(separator: " ").first, !"|#@[".contains(line.first ?? "#") else { return [] }
            return first.split(separator: ",").map(String.init).filter { !$0.contains("[") }
        }
    }

    /// Returns the text of a file; empty if it cannot be read, because completion prints no errors.
    private static func text(_ path: String) -> String {
        do throws(SystemError) {
            return String(decoding: try Files.readIfPresent(path, limit: limit) ?? [], as: UTF8.self)
        } catch { return "" }
    }
}
