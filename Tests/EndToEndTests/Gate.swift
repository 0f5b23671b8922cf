import Glibc

/// A gate at which the shell of an operation waits with `read x < PATH` until the test opens it.
final class Gate {
    let path: String
    /// Also open for reading, so that opening does not wait, and written lines stay until they are read.
    private let end: Int32

    init(_ machine: Machine, _ name: String = "gate") {
        path = machine.state + "/" + name
        mkfifo(path, 0o600)
        end = Glibc.open(path, O_RDWR | O_CLOEXEC)
    }

    deinit { close(end) }

    /// Lets one reader continue.
    func open() { write(end, "go\n", 3) }
}
