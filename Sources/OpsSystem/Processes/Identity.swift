internal import Glibc

/// The user that this process acts as, and its pid.
public enum Identity {
    public static var uid: UInt32 { geteuid() }
    public static var pid: Int32 { getpid() }
}
