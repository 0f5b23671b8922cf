internal import OpsWire

/// `signal`: sends a signal to all processes of an operation.
enum SignalVerb {
    static let verb = Verb(
        "signal", .steering, "send a signal to the processes of an operation",
        forms: ["OPERATION SIGNAL"],
        about: ["SIGNAL is a name, with or without SIG, or a number. To end an operation use opsctl cancel."],
        operands: .list(.operation, name: "OPERATION or SIGNAL", atLeast: 2, atMost: 2),
        examples: [.init("Make it read its configuration again", "opsctl signal server HUP")],
        action: { (session) throws(Failure) in
            let words = session.arguments.operands
            let name = words[1].uppercased()
            guard let number = Int(name) ?? names[name.hasPrefix("SIG") ? String(name.dropFirst(3)) : name] else {
                let near = Nearest.name(to: name, among: names.keys.sorted())
                throw session.refuse("there is no signal \"\(words[1])\"", near.map { "did you mean \($0)?" })
            }
            _ = try session.call(SignalRequest.with { ($0.ref, $0.signal) = (words[0], number) })
            try Steering.report(one: "sent \(words[1].printable) to", session)
            return .done
        })

    /// Numbers of signals, which are the same on all Linux machines that Swift supports.
    private static let names = [
        "HUP": 1, "INT": 2, "QUIT": 3, "ILL": 4, "TRAP": 5, "ABRT": 6, "BUS": 7, "FPE": 8, "KILL": 9, "USR1": 10,
        "SEGV": 11, "USR2": 12, "PIPE": 13, "ALRM": 14, "TERM": 15, "CHLD": 17, "CONT": 18, "STOP": 19, "TSTP": 20,
        "TTIN": 21, "TTOU": 22, "URG": 23, "XCPU": 24, "XFSZ": 25, "VTALRM": 26, "PROF": 27, "WINCH": 28, "IO": 29,
        "PWR": 30, "SYS": 31,
    ]
}
