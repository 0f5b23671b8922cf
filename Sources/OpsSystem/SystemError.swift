internal import COpsSpawn
internal import Glibc

/// Failed call of the kernel or of a C library.
public struct SystemError: Error, Hashable, Sendable {
    /// Name of the call and its subject, if it has one: "open /etc/opsd.conf".
    public var call: String
    public var errno: Int32

    public init(_ call: String, errno: Int32) {
        self.call = call
        self.errno = errno
    }

    /// Returns the error that the last call has left in `errno`.
    package static func last(_ call: @autoclosure () -> String) -> SystemError {
        // Read before the text is put together, which may call the kernel too.
        let errno = Glibc.errno
        return SystemError(call(), errno: errno)
    }
}

extension SystemError {
    /// Something is in use or full at the moment.
    public static let again = EAGAIN
    /// Invalid data.
    public static let invalid = EINVAL
    public static let timedOut = ETIMEDOUT
    public static let noSuchFile = ENOENT
    public static let notPermitted = EPERM
    public static let addressInUse = EADDRINUSE
    public static let argumentsTooLong = E2BIG
}

extension SystemError: CustomStringConvertible {
    public var description: String { "\(call): \(SystemError.text(errno))" }

    /// Returns the text of an errno: "No such file or directory".
    public static func text(_ errno: Int32) -> String {
        guard let text = unsafe ops_error_text(errno) else { return "errno \(errno)" }
        return unsafe String(cString: text)
    }
}

/// Calls `body` until no signal interrupts it. A negative result means an error, whose number is in `errno`.
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
