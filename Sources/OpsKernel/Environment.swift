internal import Glibc

/// The environment this process was given.
public enum Environment {
    public static subscript(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }

    /// Every variable, in the order the kernel gave them; of one that is there twice the first, as `getenv` has it.
    public static func visit(_ body: (_ name: String, _ value: String) -> Void) {
        var next = unsafe environ
        while let entry = unsafe next.pointee {
            defer { unsafe next += 1 }
            guard let equals = unsafe strchr(entry, Int32(UInt8(ascii: "="))), unsafe equals > entry else { continue }
            let value = unsafe equals + 1
            // A name that is no text cannot be told apart from others like it.
            guard let name = unsafe text(entry, count: equals - entry) else { continue }
            if let first = unsafe getenv(name), unsafe first != value { continue }
            body(name, unsafe String(cString: value))
        }
    }

    private static func text(_ start: UnsafePointer<CChar>, count: Int) -> String? {
        unsafe UnsafeRawBufferPointer(start: start, count: count).withMemoryRebound(to: UInt8.self) {
            let text = unsafe String(decoding: $0, as: UTF8.self)
            return unsafe text.utf8.elementsEqual($0) ? text : nil
        }
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
