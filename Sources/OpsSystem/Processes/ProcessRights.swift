/// Limits up to which a process may raise the priority and the open files of its children.
public struct ProcessRights: Hashable, Sendable {
    /// Lowest niceness.
    public var lowestNice: Int32
    /// Most open files.
    public var mostOpenFiles: UInt64

    public init(lowestNice: Int32, mostOpenFiles: UInt64) {
        self.lowestNice = lowestNice
        self.mostOpenFiles = mostOpenFiles
    }

    /// Reads the rights of a process; `nil`: /proc does not say.
    public init?(of pid: Int32) {
        let texts = ["/proc/\(pid)/status", "/proc/\(pid)/limits", "/proc/sys/fs/nr_open"].compactMap {
            // If a file cannot be read the rights are not known, and no operation is refused because of them.
            (try? Files.read($0, limit: 16_384)).map { String(decoding: $0, as: UTF8.self) }
        }
        guard texts.count == 3 else { return nil }
        self.init(status: texts[0], limits: texts[1], most: texts[2])
    }

    init?(status: String, limits: String, most: String) {
        guard let set = Self.words(of: "CapEff:", in: status).first.flatMap({ UInt64($0, radix: 16) }),
            let nice = Self.words(of: "Max nice priority", in: limits).first,
            let files = Self.words(of: "Max open files", in: limits).dropFirst().first,
            let most = Self.words(of: "", in: most).first.flatMap({ UInt64($0) })
        else { return nil }
        let raise = Int32(nice).map { 20 - max(0, min($0, 40)) } ?? -20
        lowestNice = set & 1 << Self.systemNice != 0 ? -20 : min(0, raise)
        mostOpenFiles = set & 1 << Self.systemResource != 0 ? most : min(most, UInt64(files) ?? most)
    }

    /// Returns the words after a name at the beginning of a line.
    private static func words(of name: String, in text: String) -> [Substring] {
        for line in text.split(separator: "\n") where line.hasPrefix(name) {
            return line.dropFirst(name.count).split { $0 == " " || $0 == "\t" }
        }
        return []
    }

    // The kernel's numbers of CAP_SYS_NICE and CAP_SYS_RESOURCE.
    private static let systemNice: UInt64 = 23
    private static let systemResource: UInt64 = 24
}
