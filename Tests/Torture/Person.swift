import Foundation
import Glibc

/// A user of the machine.
struct Person: Sendable {
    let name: String
    let uid: uid_t
    let gid: gid_t

    /// Returns nil where the machine has no such user.
    init?(named name: String) {
        guard let record = getpwnam(name) else { return nil }
        self.name = name
        uid = record.pointee.pw_uid
        gid = record.pointee.pw_gid
    }
}

/// The users that a run borrows. Every Debian has them, and nothing of the machine runs as one of them for long.
struct People: Sendable {
    /// Submits the load whose promises are checked.
    let honest: Person
    /// Attacks it.
    let hostile: Person

    /// Returns the users, or the reason why this run has to do without them.
    static func find(work: String) -> Result<People, Trouble> {
        guard geteuid() == 0 else { return .failure(Trouble("only root can be several users")) }
        guard let honest = Person(named: "daemon"), let hostile = Person(named: "nobody") else {
            return .failure(Trouble("this machine has no users daemon and nobody"))
        }
        // They must get to the socket and to the programs.
        var path = (work as NSString).deletingLastPathComponent
        while path != "/", !path.isEmpty {
            var status = stat()
            guard stat(path, &status) == 0, status.st_mode & S_IXOTH != 0 else {
                return .failure(Trouble("\(path) is closed to other users"))
            }
            path = (path as NSString).deletingLastPathComponent
        }
        return .success(People(honest: honest, hostile: hostile))
    }
}
