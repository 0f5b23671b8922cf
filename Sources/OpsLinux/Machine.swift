internal import Glibc

/// The machine this process runs on.
public enum Machine {
    /// The CPUs that are there for this process's system.
    public static var processors: Int32 { max(1, Int32(truncatingIfNeeded: sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }
}
