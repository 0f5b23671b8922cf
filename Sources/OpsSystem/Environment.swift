internal import Glibc

/// Environment of this process.
public enum Environment {
    public static subscript(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }

    /// Visits every variable in place, in the order of the kernel. Of a variable that is set twice the first value counts, as
    /// for `getenv`.
    public static func visit(
        _ body: (_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Void
    ) {
        unsafe visit(environ, body)
    }

    /// Visits the variables of any array of entries that ends with nil.
    package static func visit(
        _ entries: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>,
        _ body: (_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Void
    ) {
        var next = unsafe entries
        while let entry = unsafe next.pointee {
            defer { unsafe next += 1 }
            guard let equals = unsafe strchr(entry, Int32(UInt8(ascii: "="))), unsafe equals > entry else { continue }
            if unsafe isNamed(like: entry, through: equals, among: entries..<next) { continue }
            unsafe body(bytes(entry, equals - entry), bytes(equals + 1, strlen(equals + 1)))
        }
    }

    /// Returns whether an earlier entry has the same name, which ends at `equals`.
    private static func isNamed(
        like entry: UnsafeMutablePointer<CChar>, through equals: UnsafeMutablePointer<CChar>,
        among earlier: Range<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>
    ) -> Bool {
        var other = unsafe earlier.lowerBound
        while unsafe other < earlier.upperBound {
            // Comparing the first letters first is fast.
            if let other = unsafe other.pointee, unsafe other[0] == entry[0],
                unsafe strncmp(other, entry, equals - entry + 1) == 0
            {
                return true
            }
            unsafe other += 1
        }
        return false
    }

    private static func bytes(_ start: UnsafeMutablePointer<CChar>, _ count: Int) -> UnsafeBufferPointer<UInt8> {
        unsafe UnsafeBufferPointer(start: UnsafeRawPointer(start).assumingMemoryBound(to: UInt8.self), count: count)
    }

    /// All entries `NAME=value`, in the order of the kernel.
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
