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

/// Users that a run uses. Every Debian system has them, and no other program runs as one of them for long.
struct People: Sendable {
    /// User that submits the load, for which the promises are checked.
    let honest: Person
    /// User that attacks the load.
    let hostile: Person

    /// Returns the users, or the reason why this run cannot have them.
    static func find(work: String) -> Result<People, Trouble> {
        guard geteuid() == 0 else { return .failure(Trouble("only root can be several users")) }
        guard let honest = Person(named: "daemon"), let hostile = Person(named: "nobody") else {
            return .failure(Trouble("this machine has no users daemon and nobody"))
        }
        // The users must be able to reach the socket and the programs.
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
