/// The words opsd was started with.
public struct CommandLineOptions: Sendable {
    /// Keys of `Configuration.keys` with their values, in the order given.
    private(set) var settings: [(key: String, value: String)] = []
    /// The configuration file named in place of the usual one.
    private(set) var file: String?
    public private(set) var wantsHelp = false
    public private(set) var wantsVersion = false
    public private(set) var wantsCheck = false

    /// A word that cannot be understood.
    public struct Misuse: Error, Equatable, CustomStringConvertible {
        public let description: String
    }

    /// Takes `--option value` and `--option=value`.
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
        Runs graphs of operations, durably. Clients talk to it with opsctl(1).

          --state DIR          database and logs (root: /var/lib/opsd, else $XDG_STATE_HOME/opsd)
          --socket PATH        control socket (root: /run/opsd/control.sock, else $XDG_RUNTIME_DIR/opsd/control.sock)
          --workers N          how many operations execute at once (the number of CPUs)
          --on-stop MODE       what SIGTERM does to executing operations: keep (default), drain or cancel
          --log-level LEVEL    error, warning, notice (default), info or debug
          --config FILE        in place of /etc/opsd.conf or $XDG_CONFIG_HOME/opsd.conf
          --group NAME         who may open the socket of root's daemon (ops)
          --runner PATH        the opsd-runner to start (beside opsd, then in PATH)
          --keep-for TIME      how long finished operations are kept (30d), or forever
          --keep-at-most N     how many finished operations are kept (all)
          --log-limit SIZE     bytes of one attempt's log before its oldest part is dropped (256M), or none
          --log-total SIZE     bytes of all logs before the oldest are removed (10G), or none
          --on-finish COMMAND  run for every operation that has finished, as its submitter
          --on-failure COMMAND  run for every operation that failed, timed out or was interrupted
          --exit-when-idle TIME  ends when nobody has needed it that long; systemd starts it again (never)
          --connections N      connections at once (4096)
          --connections-per-user N  of an ordinary user (512)
          --buffered-per-user SIZE  bytes held for the clients of an ordinary user (256M)
          --operations-per-user N  unfinished operations of an ordinary user (1000000)
          --check-config       print the settings that would be used, and end
          --help, --version

        """
}
