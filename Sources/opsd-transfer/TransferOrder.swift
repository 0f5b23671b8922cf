internal import OpsExecutor
internal import OpsSystem
internal import OpsTransfer
internal import OpsWire

/// The transfer that a launch asks for: its `http` object, and the rights and paths of its operation.
struct TransferOrder {
    private let request: LaunchRequest
    let rights: FileRights?
    private let members: [String: JSONValue]
    /// Path of the file.
    let target: String

    init(_ request: LaunchRequest, rights: FileRights?) throws(Failure) {
        self.request = request
        self.rights = rights
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(Array(request.executorOptions.utf8))
        } catch {
            throw Failure(.usage, "the operation has no valid key \"http\": \(error)")
        }
        guard case .object(let found) = value else {
            throw Failure(.usage, "the operation has no key \"http\" with the file to fetch")
        }
        members = Dictionary(found.map { ($0.key, $0.value) }) { first, _ in first }
        guard case .string(let to)? = members["to"] else { throw Failure(.usage, "\"http\" has no \"to\"") }
        target = Self.absolute(to, in: request.directory)
    }

    /// Returns the request for an attempt.
    func downloadRequest() throws(Failure) -> DownloadRequest {
        guard case .string(let url)? = members["url"] else { throw Failure(.usage, "\"http\" has no \"url\"") }
        var download = DownloadRequest(address: try WebAddress(url), target: target)
        download.rights = rights
        download.umask = request.umask
        if case .string(let text)? = members["sha256"] {
            guard let checksum = Checksum(text) else {
                throw Failure(.usage, "\"sha256\" must be 64 hexadecimal digits, not \(text)")
            }
            download.checksum = checksum
        }
        if case .integer(let rate)? = members["limitRate"] { download.rateLimit = max(rate, 0) }
        if case .string(let file)? = members["headersFile"] {
            download.headersPath = Self.absolute(file, in: request.directory)
        }
        return download
    }

    /// Resolves a path against the directory of the operation.
    static func absolute(_ path: String, in directory: String) -> String {
        path.hasPrefix("/") ? path : directory == "/" ? "/\(path)" : "\(directory)/\(path)"
    }
}
