internal import Glibc
internal import OpsModel
internal import OpsSystem

/// `man`: writes the manual pages; `make install` calls it.
enum ManVerb {
    static let verb = Verb(
        "man", .keeping, "write the manual pages below a directory", forms: ["DIR"], operands: .one(.directory, "DIR"),
        isHidden: true,
        action: { (session) throws(Failure) in
            for page in ManualPage.all() {
                let directory = session.arguments.operands[0] + "/man\(page.section)"
                try makeDirectories(directory)
                try write(page, to: directory + "/" + page.name)
            }
            return .done
        })

    private static func makeDirectories(_ path: String) throws(Failure) {
        var made = path.hasPrefix("/") ? "/" : ""
        for part in path.split(separator: "/") {
            made += part + "/"
            if mkdir(made, 0o755) != 0, errno != EEXIST { throw failed(made, errno) }
        }
    }

    private static func write(_ page: ManualPage, to path: String) throws(Failure) {
        let number = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard number >= 0 else { throw failed(path, errno) }
        let file = Descriptor(owning: number)
        do throws(SystemError) {
            _ = try file.writeAll(Array(page.text.utf8))
        } catch {
            throw failed(path, error.errno)
        }
    }

    private static func failed(_ path: String, _ number: Int32) -> Failure {
        Failure(.unsuccessful, path, SystemError.text(number), nil)
    }
}
