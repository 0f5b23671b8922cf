internal import Glibc
internal import OpsSystem

/// Accounts of this machine, as /etc/passwd has them: opsctl may be linked without the libraries that know of others.
struct Accounts {
    struct Account {
        let name: String
        let uid: UInt32
        let home: String
    }

    private let all: [Account]

    init() {
        // Without the file, no account is known.
        let text = (try? Files.readText("/etc/passwd")) ?? ""
        all = text.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            guard fields.count >= 6, let uid = UInt32(fields[2]) else { return nil }
            return Account(name: fields[0], uid: uid, home: fields[5])
        }
    }

    func named(_ name: String) -> Account? { all.first { $0.name == name } }
    var own: Account? { all.first { $0.uid == getuid() } }
}
