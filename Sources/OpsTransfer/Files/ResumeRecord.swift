internal import COpsTransfer
internal import OpsSystem

/// The version of the file whose beginning a partial file contains. It is stored beside the partial file.
struct ResumeRecord: Hashable, Sendable {
    /// The requested address.
    var address: String
    /// The address that answered, after redirects, without its query.
    var resource: String
    var validator: Validator
    var length: Int64?
    /// Number of bytes that were synced before this record was written.
    var synced: Int64
    /// Boot id at the time of writing. In the same boot, written bytes exist even if they are not synced.
    var boot: String

    static let sizeLimit = 300_000
    private static let title = "opsd-fetch 1"

    /// Lines and their digest, so that an incomplete record is detected.
    var bytes: [UInt8] {
        var lines = [ResumeRecord.title, "address \(address)", "resource \(resource)"]
        switch validator {
        case .etag(let tag): lines.append("etag \(tag)")
        case .modified(let date): lines.append("modified \(date)")
        }
        if let length { lines.append("length \(length)") }
        lines += ["synced \(synced)", "boot \(boot)"]
        let text = Array((lines.joined(separator: "\n") + "\n").utf8)
        return text + Array("sha256 \(SHA256.digest(of: text))\n".utf8)
    }

    init(address: String, resource: String, validator: Validator, length: Int64?, synced: Int64, boot: String) {
        self.address = address
        self.resource = resource
        self.validator = validator
        self.length = length
        self.synced = synced
        self.boot = boot
    }

    /// Nil for anything but what `bytes` returns.
    init?(bytes: [UInt8]) {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        guard lines.first.map(String.init) == ResumeRecord.title else { return nil }
        var fields: [Substring: String] = [:]
        for line in lines.dropFirst() {
            guard let space = line.firstIndex(of: " ") else { return nil }
            fields[line[..<space]] = String(line[line.index(after: space)...])
        }
        guard let address = fields["address"], let resource = fields["resource"], let boot = fields["boot"],
            let synced = fields["synced"].flatMap(ByteCount.parse),
            let validator = fields["etag"].map(Validator.etag) ?? fields["modified"].map(Validator.modified)
        else { return nil }
        self.init(
            address: address, resource: resource, validator: validator,
            length: fields["length"].flatMap(ByteCount.parse), synced: synced, boot: boot)
        guard self.bytes == bytes else { return nil }
    }

    /// The boot id; empty if it cannot be read: then only synced bytes are valid.
    static func currentBoot() -> String {
        do throws(SystemError) {
            return try Files.readFirstLine("/proc/sys/kernel/random/boot_id")
        } catch {
            return ""
        }
    }
}
