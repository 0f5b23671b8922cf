internal import OpsCalendar
internal import OpsSystem

/// Time zones of this machine.
enum ZoneFiles {
    private static let largestFile = 1 << 20
    private static let machineClock = "/etc/localtime"

    /// Returns the rules of a zone, or nil if the machine has no such zone.
    static func rules(of name: String) throws -> ZoneRules? {
        guard ZoneName.isValid(name) else { return nil }
        let path = ZoneName.folder + "/" + name
        guard !Files.isDirectory(path), let bytes = try Files.readIfPresent(path, limit: largestFile) else {
            return name == "UTC" ? .utc : nil
        }
        return try ZoneRules(file: bytes)
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
    private var read: [String: ZoneRules?] = [:]

    func rules(of name: String) throws -> ZoneRules? {
        if let known = read[name] { return known }
        let rules = try ZoneFiles.rules(of: name)
        read[name] = .some(rules)
        return rules
    }
}
