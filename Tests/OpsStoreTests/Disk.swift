import Glibc
import TestSupport

/// Contents of a disk after a power failure: the synced part of each file, and some of the later writes.
struct Disk {
    private let written: TemporaryDirectory
    private let synced: TemporaryDirectory
    private let survival: FaultTests.Survival
    private var random: UInt64
    private static let sector = 512

    init(written: TemporaryDirectory, synced: TemporaryDirectory, _ survival: FaultTests.Survival, seed: UInt64) {
        self.written = written
        self.synced = synced
        self.survival = survival
        random = seed &* 2 + (survival == .someSectors ? 1 : 2)
    }

    func write(to image: TemporaryDirectory) throws {
        var disk = self
        for name in written.names where name.hasPrefix("opsd.db") && !name.hasSuffix("-shm") {
            if let bytes = disk.content(name) { try File.write(bytes, to: image.path + "/" + name) }
        }
    }

    /// Returns nil if the name of the file had not reached the disk.
    private mutating func content(_ name: String) -> [UInt8]? {
        let new = File.read(written.path + "/" + name) ?? []
        let old = File.read(synced.path + "/" + name)
        switch survival {
        case .nothing: return old
        case .everything: return new
        case .someSectors, .otherSectors:
            guard let old else { return flip() ? nil : torn([], new) }
            return torn(old, new)
        }
    }

    /// Returns some sectors of one and some of the other; a page consists of several sectors.
    private mutating func torn(_ old: [UInt8], _ new: [UInt8]) -> [UInt8] {
        let size = flip() ? old.count : new.count
        var bytes = [UInt8](repeating: 0, count: size)
        for start in stride(from: 0, to: size, by: Self.sector) {
            let source = flip() ? old : new
            for place in start..<min(start + Self.sector, size) where place < source.count {
                bytes[place] = source[place]
            }
        }
        return bytes
    }

    private mutating func flip() -> Bool {
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return random >> 40 & 1 == 0
    }
}

/// Whole files as bytes.
enum File {
    struct Failure: Error { var path: String }

    static func read(_ path: String) -> [UInt8]? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = fread(&block, 1, block.count, file)
            if count == 0 { return bytes }
            bytes += block[0..<count]
        }
    }

    static func write(_ bytes: [UInt8], to path: String) throws {
        guard let file = fopen(path, "w") else { throw Failure(path: path) }
        defer { fclose(file) }
        guard fwrite(bytes, 1, bytes.count, file) == bytes.count else { throw Failure(path: path) }
    }
}
