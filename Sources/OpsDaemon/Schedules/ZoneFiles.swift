internal import OpsCalendar
internal import OpsSystem

/// Time zones of this machine.
enum ZoneFiles {
    private static let largestFile = 1 << 20
    private static let machineClock = "/etc/localtime"

    static func path(of name: String) -> String { ZoneName.folder + "/" + name }

    /// Returns the rules of a zone, or nil if the machine has no such zone.
    static func rules(of name: String) throws -> ZoneRules? {
        guard ZoneName.isValid(name) else { return nil }
        let path = path(of: name)
        guard isFile(path) else { return name == "UTC" ? .utc : nil }
        // Opening a pipe would stop the loop.
        return try ZoneRules(file: try Files.readOrdinary(path, limit: largestFile))
    }

    /// Name of the time zone of opsd: that of `TZ`, or else that of this machine, or else UTC.
    static var machine: String { zone(variable: Environment["TZ"], link: Files.linkTarget(machineClock)) }

    /// - Parameters:
    ///   - variable: Value of `TZ`. It is ignored if it names no file of a zone.
    ///   - link: Target of /etc/localtime, if that is a link.
    static func zone(variable: String?, link: String?) -> String {
        if let variable {
            let text = variable.hasPrefix(":") ? String(variable.dropFirst()) : variable
            guard !text.isEmpty else { return "UTC" }
            let name = text.hasPrefix("/") ? zone(inPath: text) : text
            if let name, ZoneName.isValid(name), isFile(path(of: name)) { return name }
        }
        guard let link, let name = zone(inPath: link), ZoneName.isValid(name) else { return "UTC" }
        return name
    }

    private static func isFile(_ path: String) -> Bool { Files.exists(path) && !Files.isDirectory(path) }

    /// Returns the name of the zone in the path of its file.
    private static func zone(inPath path: String) -> String? {
        let words = path.split(separator: "/")
        return words.lastIndex(of: "zoneinfo").map { words[($0 + 1)...].joined(separator: "/") }
    }
}

/// Reads the file of each zone once, for many schedules.
final class ZoneReader {
    private var read: [String: ZoneRules?]

    /// - Parameter known: Rules of zones whose files are not read.
    init(_ known: [String: ZoneRules] = [:]) { read = known.mapValues { .some($0) } }

    func rules(of name: String) throws -> ZoneRules? {
        if let known = read[name] { return known }
        let rules = try ZoneFiles.rules(of: name)
        read[name] = .some(rules)
        return rules
    }
}
