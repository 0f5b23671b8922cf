internal import Glibc
internal import OpsCalendar
internal import OpsSystem

/// Time zones of this machine: files below /usr/share/zoneinfo, `$TZ` and /etc/localtime.
enum ZoneSource {
    static func zone(_ name: String) throws(Failure) -> ZoneRules {
        let name = ZoneName.canonical(name)
        guard ZoneName.isValid(name) else { throw unknown(name) }
        return try file(ZoneName.folder + "/" + name, name)
    }

    /// Returns the zone of `$TZ` as the C library reads it, or that of the machine.
    static func machine() throws(Failure) -> ZoneRules {
        guard var text = Environment["TZ"] else {
            // Without this file, the machine's clock shows UTC.
            return isFile("/etc/localtime") ? try file("/etc/localtime", "/etc/localtime") : .utc
        }
        if text.hasPrefix(":") { text.removeFirst() }
        guard !text.isEmpty else { return .utc }
        if text.hasPrefix("/") { return try file(text, "TZ=\(text)") }
        let path = ZoneName.folder + "/" + text
        if ZoneName.isValid(text), isFile(path) { return try file(path, "TZ=\(text)") }
        do throws(ZoneFileError) {
            return try ZoneRules(posix: text)
        } catch {
            throw unknown(text)
        }
    }

    private static func isFile(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    private static func file(_ path: String, _ name: String) throws(Failure) -> ZoneRules {
        guard isFile(path) else { throw unknown(name) }
        let bytes = try InputFile.read(path, name)
        do throws(ZoneFileError) {
            return try ZoneRules(file: bytes)
        } catch {
            throw Failure(.refused, name, "\(error)", nil)
        }
    }

    private static func unknown(_ name: String) -> Failure {
        Failure(
            .refused, "schedule next", "there is no time zone \"\(name)\"",
            "write one such as UTC or Europe/Berlin; the package tzdata has them")
    }
}
