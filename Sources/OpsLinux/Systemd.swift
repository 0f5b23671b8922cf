// What talks to the kernel alone has a target of its own, so that opsctl starts without libsystemd and the six
// libraries that it brings; everyone else sees one module.
@_exported public import OpsKernel

/// For libsystemd, which returns a negative errno.
@discardableResult
func systemd(_ call: @autoclosure () -> String, _ result: Int32) throws(SystemError) -> Int32 {
    if result < 0 { throw SystemError(call(), errno: -result) }
    return result
}
