/// The arguments of opsd.
public struct CommandLineOptions: Sendable {
    /// Keys of `Configuration.keys` with their values, in the order given.
    private(set) var settings: [(key: String, value: String)] = []
    /// The configuration file named in place of the usual one.
    private(set) var file: String?
    public private(set) var wantsHelp = false
    public private(set) var wantsVersion = false
    public private(set) var wantsCheck = false

    /// An invalid argument.
    public struct Misuse: Error, Equatable, CustomStringConvertible {
        public let description: String
    }

    /// Parses arguments of the forms `--option value` and `--option=value`.
    public init(_ words: [String]) throws(Misuse) {
        var rest = words[...]
        while let word = rest.popFirst() {
            guard word.hasPrefix("-") else {
                throw Misuse(description: "unexpected argument \"\(word)\"; see opsd --help")
            }
            if word == "--help" || word == "-h" {
                wantsHelp = true
                continue
            }
            if word == "--check-config" {
                wantsCheck = true
                continue
            }
            if word == "--version" || word == "-V" {
                wantsVersion = true
                continue
            }
            let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let key = parts.first.map(String.init) ?? ""
            guard word.hasPrefix("--"), key == "config" || Configuration.keys.contains(key) else {
                throw Misuse(description: "unknown option \"\(word)\"; see opsd --help")
            }
            guard let value = parts.count == 2 ? String(parts[1]) : rest.popFirst() else {
                throw Misuse(description: "--\(key) needs a value; see opsd --help")
            }
            if key == "config" { file = value } else { settings.append((key, value)) }
        }
    }

    public static let help = """
        Usage: opsd [OPTION]...
        Runs operations and graphs of operations. Users submit them with opsctl(1).

        Files
          --state DIR          directory of the database and the logs
                               (root: /var/lib/opsd, else $XDG_STATE_HOME/opsd)
          --socket PATH        control socket
                               (root: /run/opsd/control.sock, else $XDG_RUNTIME_DIR/opsd/control.sock)
          --group NAME         group that may open the socket of root's daemon (ops)
          --config FILE        configuration file (/etc/opsd.conf or $XDG_CONFIG_HOME/opsd.conf)
          --runner PATH        path of opsd-runner (beside opsd, then in PATH)

        Running
          --workers N          number of operations that run at once (number of processors)
          --on-stop MODE       running operations on SIGTERM: keep (default), drain or cancel
          --exit-when-idle TIME  exit after this time without clients, unfinished operations and schedules;
                               systemd starts opsd again for the next client (never)
          --on-finish COMMAND  run COMMAND after every operation, as the user that it runs as
          --on-failure COMMAND  the same after operations that failed, timed out or were interrupted
          --log-level LEVEL    error, warning, notice (default), info or debug

        Keeping
          --keep-for TIME      keep finished operations this long (30d), or forever
          --keep-at-most N     keep at most N finished operations (all)
          --log-limit SIZE     size of the log of one attempt; its oldest part is dropped (256M), or none
          --log-total SIZE     size of all logs; the oldest are removed (10G), or none

        Limits
          --connections N      connections at once (4096)
          --connections-per-user N  connections at once of an ordinary user (512)
          --buffered-per-user SIZE  bytes in memory for the clients of an ordinary user (256M)
          --operations-per-user N  unfinished operations of an ordinary user (1000000)

        Other
          --record N           record the last N turns of the scheduler for a replay (0: none)
          --check-config       print the settings in effect, and exit
          -h, --help           print this help
          -V, --version        print the version

        """
}
