internal import OpsCore
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd

/// User at the other end of a connection, as the kernel reported it when the client connected.
struct Caller: Equatable, Sendable {
    let user: UInt32
    let group: UInt32
    /// Account of the user, looked up once for a connection; nil if the user database does not have it.
    let account: Account?

    /// The login name, or the number where there is none.
    var name: String { account?.name ?? "\(user)" }
}

/// Decides what a caller may do. No other code of opsd does.
///
/// root and the daemon's own user may do everything. All other users may submit as themselves, see everything but the
/// environments, logs and results of others, and change only their own operations.
struct Authorization: Sendable {
    /// The user that opsd runs as.
    let daemonUser: UInt32

    /// Reason of a refusal, as text.
    struct Refusal: Error, Equatable {
        let message: String
    }

    func isPrivileged(_ caller: Caller) -> Bool { isPrivileged(user: caller.user) }
    var privilegedUsers: Set<UInt32> { [0, daemonUser] }
    func isPrivileged(user: UInt32) -> Bool { user == 0 || user == daemonUser }

    /// Returns whether a caller may change an operation: cancel, edit, retry, finish, suspend it.
    func mayChange(_ caller: Caller, ownedBy owner: UInt32) -> Bool { isPrivileged(caller) || caller.user == owner }

    /// Returns whether a caller may read the log, environment and results of an operation.
    func mayRead(_ caller: Caller, ownedBy owner: UInt32) -> Bool { isPrivileged(caller) || caller.user == owner }

    /// Refuses a change of queues, categories, the pool or the daemon, and housekeeping, to ordinary users.
    func requirePrivilege(_ caller: Caller, to what: String) throws(Refusal) {
        guard isPrivileged(caller) else {
            throw Refusal(message: "only root and the daemon's own user may \(what); you are \(caller.name)")
        }
    }

    /// Refuses a change of an operation of another user.
    func requireChange(_ caller: Caller, of operation: OperationID, in history: History) throws {
        guard try !mayChange(caller, ownedBy: history.owner(of: operation) ?? 0) else { return }
        throw try refusal(caller, of: "operation \(operation.rawValue)", operation, history)
    }

    /// Refuses to show the output of an operation of another user.
    func requireReading(
        _ caller: Caller, ofOutputOf operation: OperationID, ownedBy owner: UInt32, in history: History
    ) throws {
        guard !mayRead(caller, ownedBy: owner) else { return }
        throw try refusal(caller, of: "the output of operation \(operation.rawValue)", operation, history)
    }

    private func refusal(
        _ caller: Caller, of what: String, _ operation: OperationID, _ history: History
    ) throws(StoreError) -> Refusal {
        let owner = try history.texts(of: operation)?.user ?? "root"
        return Refusal(message: "\(what) belongs to \(owner); you are \(caller.name)")
    }

    /// Returns the user for an operation that names one: only root may name another than the caller, and a user's own
    /// daemon only that user. `account` is the account of the name; root may also give a uid. Returns nil if there is
    /// no such user.
    func runUser(_ caller: Caller, named wanted: String, account: Account?) throws -> Details.RunUser? {
        // Users are distinguished by their uids: the uid of a caller without an account may be the name of another
        // account.
        let isNumberOfCaller = account == nil && caller.account == nil && wanted == caller.name
        let user: Details.RunUser? =
            if isNumberOfCaller {
                Details.RunUser(name: wanted, uid: caller.user, gid: caller.group)
            } else if let account {
                Details.RunUser(name: account.name, uid: account.uid, gid: account.gid)
            } else {
                try caller.user == 0 ? runUser(numbered: wanted) : nil
            }
        guard daemonUser == 0 || user?.uid == daemonUser else {
            throw Refusal(message: "this daemon runs everything as its own user; it cannot become \(wanted)")
        }
        guard caller.user == 0 || user?.uid == caller.user else {
            throw Refusal(message: "only root may submit as another user; you are \(caller.name)")
        }
        return user
    }

    /// Returns the user with a uid; nil if the text is no uid. A uid without account has the group with its number.
    private func runUser(numbered text: String) throws(SystemError) -> Details.RunUser? {
        // The largest number stands for no user in system calls.
        guard let uid = UInt32(text), text == "\(uid)", uid != .max else { return nil }
        let account = try Account.withUID(uid)
        return Details.RunUser(name: account?.name ?? text, uid: uid, gid: account?.gid ?? uid)
    }

    /// Refuses ordinary users what would put them before all other users: priorities above `high` (4), and a negative
    /// `nice`.
    func requireStanding(_ caller: Caller, priority: Int, nice: Int?) throws(Refusal) {
        if isPrivileged(caller) { return }
        if priority > Limits.ordinaryPriority {
            throw Refusal(
                message: "priority \(priority) is for root and the daemon's own user; others may use up to "
                    + "\(Limits.ordinaryPriority)")
        }
        if let nice, nice < 0 { throw Refusal(message: "nice \(nice) is for root; others may use 0 to 19") }
    }

}
