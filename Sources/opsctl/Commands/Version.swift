internal import OpsSystem
internal import OpsWire

/// `version`: prints the version of opsctl.
enum VersionVerb {
    static let number = Release.current.text

    static let verb = Verb(
        "version", .keeping, "print the version", forms: [""],
        action: { (session) throws(Failure) in
            if session.wantsJSON {
                try session.output.line(JSONWriter.object { $0.member("version", number) })
            } else {
                try session.output.line("opsctl \(number)")
            }
            return .done
        })
}
