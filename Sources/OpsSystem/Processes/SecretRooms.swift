internal import COpsSpawn
internal import Glibc

/// Memory for the variables of secrets, which is wiped: a new process that shares this memory writes the values there.
@safe struct SecretRooms {
    private(set) var requests: UnsafeMutableBufferPointer<ops_spawn_secret>
    private var sizes: [Int] = []

    init(_ secrets: [Spawn.Secret]) {
        unsafe requests = .allocate(capacity: secrets.count)
        for (place, secret) in secrets.enumerated() {
            let name = Array((secret.name + "=").utf8)
            let size = name.count + Int(OPS_SPAWN_SECRET_SIZE) + 2
            let variable = UnsafeMutablePointer<CChar>.allocate(capacity: size)
            unsafe variable.initialize(repeating: 0, count: size)
            for (index, byte) in name.enumerated() { unsafe variable[index] = CChar(bitPattern: byte) }
            unsafe requests.initializeElement(
                at: place, to: ops_spawn_secret(path: strdup(secret.path), variable: variable))
            sizes.append(size)
        }
    }

    var variables: [UnsafePointer<CChar>] { unsafe requests.map { unsafe UnsafePointer($0.variable) } }

    func wipe() {
        for (place, size) in sizes.enumerated() {
            unsafe explicit_bzero(requests[place].variable, size)
            unsafe requests[place].variable.deallocate()
            unsafe free(UnsafeMutablePointer(mutating: requests[place].path))
        }
        unsafe requests.deallocate()
    }
}
