internal import OpsTransfer

/// The command line of opsd-fetch.
struct FetchOptions {
    var request: DownloadRequest

    static let usage = """
        usage: opsd-fetch URL -o FILE [--sha256 CHECKSUM] [--headers-file FILE] [--limit-rate BYTES[K|M|G]]
        Fetches a file over http or https, and puts it in place when every byte is right. See opsd-fetch(1).
        exit status: 0 done; 75 try again later; 65 wrong content; 69 refused; 64 usage

        """

    /// Nil: the user asks for help.
    static func parse(_ arguments: [String]) throws(Failure) -> FetchOptions? {
        var values: [String: String] = [:]
        var addresses: [String] = []
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "-h", "--help": return nil
            case "-o", "--output", "--sha256", "--headers-file", "--limit-rate":
                let name = argument == "-o" ? "--output" : argument
                guard let value = rest.popFirst() else { throw Failure(.usage, "\(argument) needs a value") }
                guard values.updateValue(value, forKey: name) == nil else {
                    throw Failure(.usage, "\(argument) is given twice")
                }
            case "--":
                addresses += rest
                rest = []
            default:
                guard !argument.hasPrefix("-") else { throw Failure(.usage, "unknown option \(argument)") }
                addresses.append(argument)
            }
        }
        guard addresses.count == 1 else { throw Failure(.usage, "give one URL") }
        guard let target = values["--output"] else { throw Failure(.usage, "give the file with -o FILE") }
        var request = DownloadRequest(address: try WebAddress(addresses[0]), target: target)
        if let text = values["--sha256"] {
            guard let checksum = Checksum(text) else {
                throw Failure(.usage, "--sha256 takes 64 hexadecimal digits, not \(text)")
            }
            request.checksum = checksum
        }
        if let text = values["--limit-rate"] {
            guard let rate = Self.rate(text) else {
                throw Failure(.usage, "--limit-rate takes bytes per second, such as 500K or 2M, not \(text)")
            }
            request.rateLimit = rate
        }
        request.headersPath = values["--headers-file"]
        request.umask = DownloadRequest.processMask
        return FetchOptions(request: request)
    }

    /// A number of bytes with K, M or G for powers of 1024, at least one.
    static func rate(_ text: String) -> Int64? {
        let units: [Character: Int64] = ["K": 1 << 10, "M": 1 << 20, "G": 1 << 30]
        let unit = text.last.flatMap { units[Character($0.uppercased())] }
        let digits = unit == nil ? text[...] : text.dropLast()
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(digits) else {
            return nil
        }
        let (rate, overflowed) = number.multipliedReportingOverflow(by: unit ?? 1)
        return overflowed || rate < 1 ? nil : rate
    }
}
