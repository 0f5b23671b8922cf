/// Names of the IANA time zone database, such as `Europe/Berlin`.
public enum ZoneName {
    /// Folder of the zone files on Debian.
    public static let folder = "/usr/share/zoneinfo"

    /// Returns whether a name can be looked up safely: it stays below the folder, and has the letters of the database.
    public static func isValid(_ name: String) -> Bool {
        let bytes = name.utf8
        guard 1...64 ~= bytes.count, bytes.first.map({ ($0 | 0x20) &- UInt8(ascii: "a") < 26 }) == true else {
            return false
        }
        let isSpelled = bytes.allSatisfy { byte in
            (byte | 0x20) &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") <= 9 || "+-_/".utf8.contains(byte)
        }
        return isSpelled && !name.hasSuffix("/") && !name.contains("//")
    }
}
