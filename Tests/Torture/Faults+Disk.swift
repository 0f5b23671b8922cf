import Foundation
import Glibc

/// Faults of the disk: it is full, its calls fail, or its power is cut.
extension Faults {
    /// Fills the disk for a while. Sometimes opsd is killed meanwhile.
    mutating func fillDisk() throws -> Fault {
        let path = victims.state + "/filler"
        let fault = try disturb("disk full", [.noRoom], begin: { Disk.fill(path) }, end: { unlink(path) })
        return try mountAgainIfNecessary(after: fault)
    }

    /// Repairs a file system that has shut itself down, as btrfs may do when it is full. opsd does not outlive this: a
    /// write to SQLite's mapped index then ends a process with SIGBUS.
    private mutating func mountAgainIfNecessary(after fault: Fault) throws -> Fault {
        if victims.disk.image == nil || isDiskWritable { return fault }
        let isKilled = victims.daemonDeath == 128 + SIGBUS
        var both = try cutPower(fault.kind + (isKilled ? ", SIGBUS in opsd" : "") + ", mounted again")
        both.harm.formUnion(fault.harm)
        (both.after, both.began) = (fault.after, fault.began)
        return both
    }

    /// Fills the file system that contains the image. The file system in the image then accepts data and fails to write
    /// them to its disk.
    mutating func starveDisk() throws -> Fault {
        guard let image = victims.disk.image else { return begin("nothing") }
        let path = image.path + ".filler"
        let kind = "write-back errors of \(image.kind.rawValue)"
        let fault = try disturb(
            kind, [.noRoom, .lostOutput], begin: { Disk.fill(path) }, end: { unlink(path) })
        return try mountAgainIfNecessary(after: fault)
    }

    /// True if the file system accepts a new file and a sync. A file system that cannot write its journal shuts itself
    /// down, at the latest at the next write to the journal. Then everything must be stopped, and the file system
    /// mounted again.
    private var isDiskWritable: Bool {
        let path = victims.state + "/probe"
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { return false }
        defer {
            close(file)
            unlink(path)
        }
        return write(file, path, 1) == 1 && fsync(file) == 0
    }

    /// Checks that the fault has not damaged the database. The whole database is read, because most pages are rarely
    /// needed.
    private func expectSound(after fault: Fault) throws {
        let problems: [String]
        do throws(CallError) {
            problems = try Wire.call(victims.socket, "Check")["problems"] as? [String] ?? []
        } catch {
            // A daemon that does not answer now is checked after the next fault.
            problems = "\(error)".contains("malformed") ? ["\(error)"] : []
        }
        if !problems.isEmpty { throw Trouble("damage, seen after \(fault.kind): \(problems)") }
    }

    /// Makes calls on the database's files fail in opsd.
    mutating func failDisk() throws -> Fault {
        guard let shim = victims.shim else { return begin("nothing") }
        let calls =
            dice.pick([[.sync], [.write], [.read], [.sync, .write], [.open, .read], [.sync, .write, .read, .open]])
            ?? Shim.Calls.sync
        let every = dice.pick([1, 1, 3, 20]) ?? 1
        let before = shim.failedCalls
        let fault = try disturb(
            "I/O errors",
            begin: {
                shim.failDisk(calls, oneIn: every)
                return true
            }, end: { shim.repairDisk() })
        return shim.failedCalls > before ? fault : begin("I/O errors that affected no call")
    }

    private mutating func disturb(_ kind: String, _ harm: Fault.Harm = [], begin: () -> Bool, end: () -> Void) throws
        -> Fault
    {
        let diesMeanwhile = dice.happens(25)
        let fault = self.begin(diesMeanwhile ? kind + ", kill -9 opsd" : kind, harm)
        guard begin() else {
            end()
            return self.begin("nothing")
        }
        rest(dice.roll(100...2500))
        if diesMeanwhile {
            try victims.stop(SIGKILL)
            // opsd may refuse to start on such a disk, but it must not hang, and it must start on the repaired disk.
            let isThere = try victims.startsOrRefuses()
            end()
            if !isThere, isDiskWritable, try !victims.startsOrRefuses(), isDiskWritable {
                throw Trouble("opsd does not start on a repaired disk: \(victims.logTail)")
            }
        } else {
            end()
        }
        // A file system that has shut itself down cannot be read. It is mounted again, and checked then.
        if victims.disk.image == nil || isDiskWritable { try expectSound(after: fault) }
        return fault
    }

    /// Simulates a power cut of the machine: stops opsd's replies, cuts the disk's power, and kills every process. All
    /// unsynced data are lost.
    mutating func cutPower(_ kind: String = "power cut") throws -> Fault {
        guard let image = victims.disk.image else { return begin("nothing") }
        let fault = begin(kind, [.interruption, .lostOutput])
        try victims.silence()
        try Disk.cutPower(victims.mount, of: image)
        try victims.killAll()
        try Disk.remount(image, at: victims.mount, report: victims.work + "/mount.log")
        try victims.start()
        try expectSound(after: fault)
        return fault
    }
}
