internal import Glibc

/// The environment this process was given.
public enum Environment {
    public static subscript(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }

    /// Every `NAME=value`, in the order the kernel gave them.
    public static var all: [String] {
        var entries: [String] = []
        var next = unsafe environ
        while let entry = unsafe next.pointee {
            entries.append(unsafe String(cString: entry))
            unsafe next += 1
        }
        return entries
    }
}
