internal import Glibc
internal import OpsSystem

/// Accounts in /etc/passwd. A static opsctl is linked without the libraries that know accounts from other sources.
struct Accounts {
    struct Account {
        let name: String
        let uid: UInt32
        let home: String
    }

    private static let largestFile = 16 << 20

    private let all: [Account]

    init(path: String = "/etc/passwd") {
        // Without the file there are no known accounts.
        let bytes = (try? Files.read(path, limit: Self.largestFile)) ?? []
        all = bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
            let fields = line.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
                .map { String(decoding: $0, as: UTF8.self) }
            guard fields.count >= 6, let uid = UInt32(fields[2]) else { return nil }
            return Account(name: fields[0], uid: uid, home: fields[5])
        }
    }

    func named(_ name: String) -> Account? { all.first { $0.name == name } }
    var own: Account? { all.first { $0.uid == getuid() } }
}
