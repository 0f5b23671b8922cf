internal import OpsSystem

/// Command line of opsd-web.
public struct WebOptions: Equatable, Sendable {
    public var isReadOnly = false
    /// Port on loopback; nil for the default port, or a free one if that is in use.
    public var port: UInt16?
    /// Path of a Unix socket instead of a port.
    public var socket: String?
    /// True to open a browser.
    public var opens = false
    public var wantsHelp = false

    public static let usualPort: UInt16 = 8817

    public struct Problem: Error, Equatable {
        public var message: String
    }

    public static let usage = """
        usage: opsd-web [--read-only] [--port N | --socket PATH] [--open]
        Serves the page of opsd to browsers of this machine, with the rights of the user who starts it. See opsd-web(8).

        """

    public static func parse(_ arguments: [String]) throws(Problem) -> WebOptions {
        var options = WebOptions()
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "-h", "--help": options.wantsHelp = true
            case "--read-only": options.isReadOnly = true
            case "--open": options.opens = true
            case "--port":
                guard let text = rest.popFirst(), let port = UInt16(text) else {
                    throw Problem(message: "--port takes a number from 0 to 65535; 0 means any free port")
                }
                options.port = port
            case "--socket":
                guard let path = rest.popFirst(), !path.isEmpty else {
                    throw Problem(message: "--socket takes the path of a socket to make")
                }
                options.socket = path
            default: throw Problem(message: "unknown option \(argument)")
            }
        }
        guard options.port == nil || options.socket == nil else {
            throw Problem(message: "--port and --socket cannot be used together: leave one out")
        }
        guard !options.opens || options.socket == nil else {
            throw Problem(message: "--open needs a port: browsers open no socket")
        }
        return options
    }
}
