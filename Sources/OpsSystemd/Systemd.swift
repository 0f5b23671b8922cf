internal import OpsSystem

/// Throws the error of a call of libsystemd, which returns a negative errno.
@discardableResult
func systemd(_ call: @autoclosure () -> String, _ result: Int32) throws(SystemError) -> Int32 {
    if result < 0 { throw SystemError(call(), errno: -result) }
    return result
}
