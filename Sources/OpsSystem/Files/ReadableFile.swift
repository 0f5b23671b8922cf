internal import Glibc

/// File that is read at any offset while other processes write to it.
public struct ReadableFile: ~Copyable {
    private let descriptor: Descriptor

    init(descriptor: consuming Descriptor) { self.descriptor = descriptor }

    /// Opens a file; `nil`: there is no such file.
    public static func open(_ path: String) throws(SystemError) -> ReadableFile? {
        do throws(SystemError) {
            let flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
            let number = try retrying("open \(path)") { unsafe Glibc.open(path, flags) }
            return ReadableFile(descriptor: Descriptor(owning: number))
        } catch {
            if error.errno == ENOENT { return nil }
            throw error
        }
    }

    public var size: Int64 {
        borrowing get throws(SystemError) {
            var status = stat()
            let number = descriptor.rawValue
            try retrying("examine file") { unsafe fstat(number, &status) }
            return Int64(status.st_size)
        }
    }

    public var owner: UInt32 {
        borrowing get throws(SystemError) {
            var status = stat()
            let number = descriptor.rawValue
            try retrying("examine file") { unsafe fstat(number, &status) }
            return status.st_uid
        }
    }

    /// Instant of the last write.
    public var lastWrite: WallInstant {
        borrowing get throws(SystemError) {
            var status = stat()
            let number = descriptor.rawValue
            try retrying("examine file") { unsafe fstat(number, &status) }
            return status.lastWrite
        }
    }

    /// Reads at most `count` bytes from `offset`; fewer only at the end.
    public borrowing func read(at offset: Int64, count: Int) throws(SystemError) -> [UInt8] {
        let number = descriptor.rawValue
        var failure: SystemError?
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            do throws(SystemError) {
                while filled < count {
                    let got = try retrying("read file") {
                        unsafe pread(
                            number, buffer.baseAddress?.advanced(by: filled), count - filled, Int(offset) + filled)
                    }
                    if got == 0 { return }
                    filled += got
                }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Returns the offset of the next byte, from `offset` on, that is not in a hole; the end of the file if there is none.
    public borrowing func nextData(from offset: Int64) throws(SystemError) -> Int64 {
        let number = descriptor.rawValue
        // SEEK_DATA, which the Glibc module leaves out.
        let seekData: Int32 = 3
        do throws(SystemError) {
            return Int64(try retrying("seek data") { lseek(number, Int(offset), seekData) })
        } catch {
            if error.errno == ENXIO { return try size }
            // The file system does not know.
            if error.errno == EINVAL { return offset }
            throw error
        }
    }

    /// Returns the offset of the first byte that is not in a hole; 0 if there is none.
    public borrowing func firstData() throws(SystemError) -> Int64 {
        let first = try nextData(from: 0)
        let end = try size
        return first < end ? first : 0
    }
}

extension stat {
    var lastWrite: WallInstant {
        WallInstant(
            nanoseconds: Int64(st_mtim.tv_sec).clampedProduct(1_000_000_000).clampedSum(Int64(st_mtim.tv_nsec)))
    }
}
