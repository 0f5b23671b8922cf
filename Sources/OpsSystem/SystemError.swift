internal import COpsSpawn
internal import Glibc

/// A call of the kernel or of a C library that failed.
public struct SystemError: Error, Hashable, Sendable {
    /// What was called, with its subject where there is one: "open /etc/opsd.conf".
    public var call: String
    public var errno: Int32

    public init(_ call: String, errno: Int32) {
        self.call = call
        self.errno = errno
    }

    /// The error that the call just made has left in `errno`.
    package static func last(_ call: @autoclosure () -> String) -> SystemError {
        // Read before the text is put together, which may call the kernel too.
        let errno = Glibc.errno
        return SystemError(call(), errno: errno)
    }
}

extension SystemError {
    /// What was found makes no sense.
    public static let invalid = EINVAL
    public static let timedOut = ETIMEDOUT
    public static let noSuchFile = ENOENT
    public static let notPermitted = EPERM
    public static let argumentsTooLong = E2BIG
}

extension SystemError: CustomStringConvertible {
    public var description: String { "\(call): \(SystemError.text(errno))" }

    /// The kernel's words for an errno: "No such file or directory".
    public static func text(_ errno: Int32) -> String {
        guard let text = unsafe ops_error_text(errno) else { return "errno \(errno)" }
        return unsafe String(cString: text)
    }
}

/// Calls `body` until no signal interrupts it; the one place where EINTR is met.
@discardableResult
package func retrying<Result: FixedWidthInteger & SignedInteger>(
    _ call: @autoclosure () -> String, _ body: () -> Result
) throws(SystemError) -> Result {
    while true {
        let result = body()
        if result >= 0 { return result }
        if errno != EINTR { throw .last(call()) }
    }
}
