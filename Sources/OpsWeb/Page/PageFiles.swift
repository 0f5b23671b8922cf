internal import OpsSystem

/// Files of the page, read once at the start.
struct PageFiles {
    struct File {
        var type: String
        var bytes: [UInt8]
        /// The content, compressed with gzip.
        var compressed: [UInt8]

        func response(_ status: UInt32, to head: RequestHead) -> HTTPResponse {
            guard head.acceptsGzip else { return HTTPResponse(status, type: type, bytes) }
            var response = HTTPResponse(status, type: type, compressed)
            response.headers = [("Content-Encoding", "gzip")]
            return response
        }
    }

    private let files: [String: File]

    /// Files that a browser without a session may load: they exchange the token of a link, and contain nothing else.
    static let withoutSession: Set<String> = ["enter.html", "enter.js", "enter.css"]

    private static let types = [
        "html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8",
        "svg": "image/svg+xml",
    ]

    init(directory: String) throws(SystemError) {
        var files: [String: File] = [:]
        for name in try Files.list(directory) {
            guard let ending = name.split(separator: ".").last, let type = Self.types[String(ending)] else { continue }
            let bytes = try Files.read(directory + "/" + name, limit: 1 << 20)
            files[name] = File(type: type, bytes: bytes, compressed: Gzip.compress(bytes))
        }
        self.files = files
    }

    subscript(name: String) -> File? { files[name] }

    /// Returns the first directory that contains the page: beside the program, in the source tree of the build, or
    /// where a package installs it.
    static func directory(program: String) -> String? {
        let folder = parent(program)
        var candidates = [folder + "/web", parent(folder) + "/share/opsd/web"]
        if let build = program.firstRange(of: "/.build/") { candidates.append(program[..<build.lowerBound] + "/web") }
        return candidates.first { Files.exists($0 + "/index.html") }
    }

    private static func parent(_ path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    }
}

extension StringProtocol {
    /// Returns the first position of a text.
    fileprivate func firstRange(of text: String) -> Range<Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
            start = index(after: start)
        }
        return nil
    }
}

/// Location of the page.
public enum WebPage {
    /// Returns the directory of a program's page; nil if there is none.
    public static func directory(program: String) -> String? { PageFiles.directory(program: program) }
}
