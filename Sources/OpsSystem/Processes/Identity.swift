internal import Glibc

/// The user that this process acts as, its pid and its session.
public enum Identity {
    public static var uid: UInt32 { geteuid() }
    public static var pid: Int32 { getpid() }
    public static var session: Int32 { getsid(0) }
}
