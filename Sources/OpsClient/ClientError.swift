// The names of requests, replies and errors are part of this module's interface.
@_exported public import OpsWire

/// Reason why a call has no reply.
public enum ClientError: Error, Equatable, Sendable {
    /// No daemon accepts connections at this path.
    case unreachable(path: String, errno: Int32)
    /// No daemon answers on this host.
    case unreachableHost(String, RemoteHost.Failure)
    /// The connection ended before the last reply. Without a number, the daemon closed it.
    case lost(errno: Int32?)
    /// No reply arrived before the deadline of the connection.
    case timedOut
    /// The daemon answered with an error.
    case refused(ReplyError)
    /// The daemon sent bytes that are not a message.
    case noMessage
    /// The parameters of a reply are not those in the interface file.
    case wrongReply(InvalidParameter)
}
