internal import Glibc
public import OpsSystem

/// User in the user database of the machine.
public struct Account: Hashable, Sendable {
    public var name: String
    public var uid: UInt32
    public var gid: UInt32
    public var home: String
    public var shell: String
    public init(name: String, uid: UInt32, gid: UInt32, home: String, shell: String) {
        self.name = name
        self.uid = uid
        self.gid = gid
        self.home = home
        self.shell = shell
    }
}

extension Account {
    public static func named(_ name: String) throws(SystemError) -> Account? {
        try unsafe lookUp("look up user \(name)", passwd(), { unsafe getpwnam_r(name, $0, $1, $2, $3) }, Account.init)
    }

    public static func withUID(_ uid: UInt32) throws(SystemError) -> Account? {
        try unsafe lookUp("look up uid \(uid)", passwd(), { unsafe getpwuid_r(uid, $0, $1, $2, $3) }, Account.init)
    }

    /// Returns the account of a uid. Of several accounts with that uid, the one that still has the name `formerName`; the
    /// name alone may belong to another user by now.
    public static func withUID(_ uid: UInt32, formerName name: String) throws(SystemError) -> Account? {
        if let account = try named(name), account.uid == uid { return account }
        return try withUID(uid)
    }

    /// Returns the id of a group.
    public static func group(named name: String) throws(SystemError) -> UInt32? {
        try unsafe lookUp(
            "look up group \(name)", Glibc.group(), { unsafe getgrnam_r(name, $0, $1, $2, $3) }, { unsafe $0.gr_gid })
    }

    /// Returns all groups of the user, the primary one included.
    public func groups() throws(SystemError) -> [UInt32] {
        var capacity = 64
        while capacity <= 65_536 {
            var list = [UInt32](repeating: 0, count: capacity)
            var count = Int32(capacity)
            if unsafe getgrouplist(name, gid, &list, &count) >= 0 { return Array(list.prefix(Int(count))) }
            capacity = max(capacity * 2, Int(count))
        }
        throw SystemError("groups of \(name)", errno: ERANGE)
    }

    private typealias Query<Record> = (
        UnsafeMutablePointer<Record>, UnsafeMutablePointer<CChar>, Int,
        UnsafeMutablePointer<UnsafeMutablePointer<Record>?>
    ) -> Int32

    private static func lookUp<Record, Answer>(
        _ call: String, _ empty: Record, _ query: Query<Record>, _ read: (Record) -> Answer
    ) throws(SystemError) -> Answer? {
        var size = 1024
        while true {
            var buffer = [CChar](repeating: 0, count: size)
            var record = empty
            var found: UnsafeMutablePointer<Record>?
            var answer: Answer?
            let error = unsafe buffer.withUnsafeMutableBufferPointer { bytes -> Int32 in
                guard let base = bytes.baseAddress else { return ENOMEM }
                let error = unsafe query(&record, base, bytes.count, &found)
                // The strings are in `buffer`: they are copied while it is accessible.
                if error == 0, let found = unsafe found { answer = unsafe read(found.pointee) }
                return error
            }
            switch error {
            case 0, ENOENT, ESRCH: return answer
            case EINTR: continue
            case ERANGE where size < 1 << 20: size *= 4
            default: throw SystemError(call, errno: error)
            }
        }
    }

    private init(_ record: passwd) {
        unsafe self.init(
            name: unsafe String(cString: record.pw_name), uid: record.pw_uid, gid: record.pw_gid,
            home: unsafe String(cString: record.pw_dir), shell: unsafe String(cString: record.pw_shell))
    }
}
