/// Names of the IANA time zone database, such as `Europe/Berlin`.
public enum ZoneName {
    /// Directory of the zone files on Debian.
    public static let folder = "/usr/share/zoneinfo"

    /// Returns a name as the database spells it: `UTC` for `utc`.
    public static func canonical(_ name: String) -> String { name.lowercased() == "utc" ? "UTC" : name }

    /// Returns true if a name is safe to look up: it stays below the directory, and has only characters of the
    /// database.
    public static func isValid(_ name: String) -> Bool {
        let bytes = name.utf8
        guard 1...64 ~= bytes.count, bytes.first.map({ ($0 | 0x20) &- UInt8(ascii: "a") < 26 }) == true else {
            return false
        }
        let isSpelled = bytes.allSatisfy { byte in
            (byte | 0x20) &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") <= 9 || "+-_/".utf8.contains(byte)
        }
        let parts = bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return isSpelled && !parts.contains(where: \.isEmpty)
    }
}
