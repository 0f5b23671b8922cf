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
        guard Files.exists(path), !Files.isDirectory(path) else { return name == "UTC" ? .utc : nil }
        // Opening a pipe would stop the loop.
        return try ZoneRules(file: try Files.readOrdinary(path, limit: largestFile))
    }

    /// Name of this machine's time zone; UTC if /etc/localtime is not a link to a zone.
    static var machine: String {
        guard let words = Files.linkTarget(machineClock)?.split(separator: "/"),
            let folder = words.lastIndex(of: "zoneinfo")
        else { return "UTC" }
        let name = words[(folder + 1)...].joined(separator: "/")
        return ZoneName.isValid(name) ? name : "UTC"
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
