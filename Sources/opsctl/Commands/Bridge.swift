internal import OpsClient

/// `bridge`: the remote side of `--host`.
enum BridgeVerb {
    static let verb = Verb(
        "bridge", .keeping, "carry the protocol over standard input and output", forms: [""],
        about: [
            "The remote side of --host: ssh starts it on the other host. It talks to the daemon there with the rights of the "
                + "user who has logged in. Other programs may use it in the same way."
        ],
        examples: [.init("The daemon of another host, from here", "ssh buildhost opsctl bridge")],
        action: { (session) throws(Failure) in
            try session.speaking { () throws(ClientError) in try SocketBridge.run(path: session.socketPath) }
            return .done
        })
}
