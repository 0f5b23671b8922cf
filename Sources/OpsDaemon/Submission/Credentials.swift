internal import OpsSystem
internal import OpsWire

/// The systemd credentials of opsd.
enum Credentials {
    static let directory = Environment["CREDENTIALS_DIRECTORY"]

    /// Returns why the operations of a user cannot have a secret; nil: they can.
    static func refusal(of secret: Secret, user uid: UInt32) -> String? {
        guard case .credential(let name) = secret.source else { return nil }
        if name.contains("/") || name.hasPrefix(".") { return "\"\(name)\" is not the name of a credential" }
        return uid == 0 ? nil : "credentials of opsd are only for operations of root; give a \"file\""
    }
}
