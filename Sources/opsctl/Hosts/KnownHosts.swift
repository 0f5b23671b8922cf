internal import OpsSystem

/// Hosts that ssh knows of this user, for completion.
enum KnownHosts {
    private static let limit = 1 << 20

    static var names: [String] {
        guard let home = Environment["HOME"], !home.isEmpty else { return [] }
        return Set(configured(text(home + "/.ssh/config")) + met(text(home + "/.ssh/known_hosts"))).sorted()
    }

    /// Names of `Host` lines without patterns.
    static func configured(_ text: String) -> [String] {
        text.split(separator: "\n").flatMap { line -> [String] in
            let words = line.split { $0 == " " || $0 == "\t" || $0 == "=" }.map(String.init)
            guard words.first?.lowercased() == "host" else { return [] }
            return words.dropFirst().filter { !$0.contains { "*?!".contains($0) } }
        }
    }

    /// Names of known keys; not those that are hashed, nor addresses with ports.
    static func met(_ text: String) -> [String] {
        text.split(separator: "\n").flatMap { line -> [String] in
            guard let first = line.split(separator: " ").first, !"|#@[".contains(line.first ?? "#") else { return [] }
            return first.split(separator: ",").map(String.init).filter { !$0.contains("[") }
        }
    }

    /// Empty where the file cannot be read: completion never complains.
    private static func text(_ path: String) -> String {
        do throws(SystemError) {
            return String(decoding: try Files.readIfPresent(path, limit: limit) ?? [], as: UTF8.self)
        } catch { return "" }
    }
}
