internal import OpsSystem
internal import OpsSystemd
internal import OpsWire

/// Surroundings of the submitting process, or those of a login of its user when the client sends none.
struct Captured {
    private let variables: StringMap
    let details: Details.Captured

    init(_ capture: Capture?, account: Account?) {
        guard let capture else {
            variables = [
                "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "HOME": account?.home ?? "/", "USER": account?.name ?? "", "LOGNAME": account?.name ?? "",
                "SHELL": account?.shell ?? "/bin/sh",
            ]
            details = .with { $0.directory = account?.home ?? "/" }
            return
        }
        variables = capture.environment
        details = .with {
            $0.directory = capture.directory
            $0.umask = capture.umask
        }
    }

    /// The variables as a helper process gets them.
    var words: CStringArray {
        var result = variables
        result.removeReservedVariables()
        return CStringArray(result.entries.map { "\($0.name)=\($0.value)" })
    }

    /// Returns the environment as JSON, in which defaults of the submission replace captured variables. Variables that
    /// opsd sets are left out: a submission from inside an operation has those of that operation.
    /// - Parameter stored: Variables that opsd sets in any case.
    func environment(under defaults: StringMap, and stored: StringMap = StringMap()) -> String {
        var result = variables
        result.override(with: defaults)
        result.removeReservedVariables()
        result.override(with: stored)
        var writer = JSONWriter(capacity: 1024)
        result.write(to: &writer)
        return writer.text
    }
}
