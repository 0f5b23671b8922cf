import Foundation
import Glibc

/// File that an operation of the load must fetch.
struct PlannedTransfer: Sendable {
    var size: Int
    /// Version of the content that must arrive.
    var version: Int
    /// Exit codes with which an attempt may fail.
    var codes: Set<Int>
    var maySucceed: Bool
}

/// A server that lies (OpsTransferTests/Server), and the files that operations of the load fetch from it.
final class Transfers: Sendable {
    private let address: String
    private let served: String
    private let files: String
    /// Writing end of a pipe. The server ends when it is closed.
    private let input: FileHandle

    /// Returns nil, and prints the reason, if transfers cannot be tortured.
    static func find(_ victims: Victims, source: String?) throws -> Transfers? {
        let lacking = { (what: String) -> Transfers? in
            print("NOT TORTURED: transfers: \(what)")
            return nil
        }
        guard let source else { return lacking("no --source") }
        guard FileManager.default.isExecutableFile(atPath: "/usr/bin/python3") else { return lacking("no python3") }
        guard FileManager.default.isExecutableFile(atPath: victims.programs + "/opsd-transfer") else {
            return lacking("opsd-transfer is not built")
        }
        return try Transfers(victims, script: source + "/Tests/OpsTransferTests/Server/lying_server.py")
    }

    private init(_ victims: Victims, script: String) throws {
        served = victims.work + "/served"
        files = victims.files
        let (pipe, output) = (victims.work + "/server.in", victims.work + "/server.out")
        try FileManager.default.createDirectory(atPath: served, withIntermediateDirectories: false)
        guard mkfifo(pipe, 0o600) == 0 else { throw Trouble("cannot make \(pipe)") }
        let descriptor = open(pipe, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw Trouble("cannot open \(pipe)") }
        input = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        let server = try Program(
            ["/usr/bin/python3", "-B", script, served], environment: Victims.environment, output: output, input: pipe)
        // The server represents another machine, which a power cut does not affect.
        victims.spare(server.pid)
        let end = Date().addingTimeInterval(60)
        while Date() < end {
            let text = String(decoding: FileManager.default.contents(atPath: output) ?? Data(), as: UTF8.self)
            if text.hasSuffix("\n") {
                guard let port = Int(text.dropLast()) else { throw Trouble("the server says \(text)") }
                address = "http://127.0.0.1:\(port)"
                return
            }
            usleep(10_000)
        }
        throw Trouble("the server does not start")
    }

    /// Returns the value for the key `http` of an operation.
    func request(_ name: String, _ scenario: Scenario, size: Int, version: Int) -> [String: Any] {
        let query = "size=\(size)&version=\(version)\(scenario.query)"
        return ["url": "\(address)/\(scenario.path)/\(name)?\(query)", "to": "\(files)/\(name)"]
    }

    /// Compares the files with the content that the server has, byte by byte.
    func evidence(_ planned: [String: Planned]) throws -> TransferEvidence {
        var evidence = TransferEvidence()
        for name in try FileManager.default.contentsOfDirectory(atPath: files) {
            // The partial file `.NAME.part`, or its record `.NAME.part.state`.
            if name.hasPrefix("."), let end = name.range(of: ".part") {
                evidence.partial.insert(String(name[..<end.lowerBound].dropFirst()))
                continue
            }
            guard let transfer = planned[name]?.transfer else {
                evidence.strange.append(name)
                continue
            }
            let bytes = FileManager.default.contents(atPath: "\(files)/\(name)") ?? Data()
            let isRight = bytes == Self.content(transfer.version, transfer.size)
            evidence.files[name] = isRight
        }
        for name in try FileManager.default.contentsOfDirectory(atPath: served) {
            let text = try String(contentsOfFile: "\(served)/\(name)", encoding: .utf8)
            let id = String(name.prefix { $0 != "." })
            let lines = text.split(separator: "\n")
            if name.hasSuffix(".jsonl") { evidence.requests += lines.count }
            guard name.hasSuffix(".open") else { continue }
            for line in lines {
                let times = line.split(separator: " ").compactMap { Double($0) }
                guard times.count == 2, times[0] < times[1] else { continue }
                evidence.fetches.append(.init(name: id, span: times[0]...times[1]))
            }
        }
        return evidence
    }

    /// Returns the bytes of a version. lying_server.py has the same function.
    private static func content(_ version: Int, _ size: Int) -> Data {
        var state = version
        let block = (0..<65_521).map { _ in
            state = (state &* 1_103_515_245 &+ 12345) & 0x7FFF_FFFF
            return UInt8(state >> 16 & 255)
        }
        var bytes = Data()
        while bytes.count < size { bytes += block }
        return bytes.prefix(size)
    }
}

/// Behaviour of the server for one file.
struct Scenario: Sendable {
    var path: String
    var query = ""
    /// Version that arrives; nil: the requested one.
    var version: Int?
    var codes: Set<Int> = [75]
    var maySucceed = true
    var isSlow = false

    init(
        _ path: String, _ query: String = "", version: Int? = nil, codes: Set<Int> = [75], maySucceed: Bool = true
    ) {
        self.path = path
        self.query = query
        self.version = version
        self.codes = codes
        self.maySucceed = maySucceed
    }

    /// Slow enough that faults hit it in the middle. The server records when it was in progress.
    private static var slow: Scenario {
        var scenario = Scenario("slow", "&step=16384&pause=25&witness=1")
        scenario.isSlow = true
        return scenario
    }
    static let all =
        [
            .init("file"), .init("truncates-once"), .init("resets-once"), .init("changes", version: 2),
            .init("changes-in-part", version: 2), .init("weak"), .init("ignores-range"), .init("short-part"),
            .init("lies-about-start", codes: [65, 75]), .init("lies-about-end", codes: [65, 75]),
            .init("lies-about-total", codes: [65, 75]), .init("refuses-range"),
            .init("redirects", "&redirects=3", version: 1),
            .init("chunked"), .init("chunked-without-end"), .init("busy", "&status=429&times=2&retry=1"),
            .init("busy", "&status=503&times=1&retry=1"), .init("status", "&status=503", maySucceed: false),
            .init("status", "&status=404", codes: [69], maySucceed: false), .init("truncates", maySucceed: false),
        ] + Array(repeating: slow, count: 12)
    /// Content that changes behind the same entity tag, which no client can detect.
    static let treacherous = Scenario("changes-silently")
}

extension Planner {
    /// Makes an operation fetch a file instead of executing a command.
    mutating func addTransfer(_ operation: inout [String: Any], _ plan: inout Planned, from transfers: Transfers) {
        guard var scenario = dice.pick(Scenario.all) else { return }
        if isTreacherous { scenario = .treacherous }
        // An empty file cannot be truncated.
        let smallest = scenario.maySucceed ? 0 : 1
        let size =
            scenario.isSlow ? dice.roll(100_000...400_000) : dice.pick([smallest, 1, 1000, 50_000, 150_000]) ?? 1
        // Versions start at 3, because the server uses 1 and 2 itself.
        let version = dice.roll(3...6)
        var request = transfers.request(plan.name, scenario, size: size, version: version)
        if dice.happens(10) { request["limitRate"] = "300K" }
        plan.transfer = PlannedTransfer(
            size: size, version: scenario.version ?? version, codes: scenario.codes, maySucceed: scenario.maySucceed)
        operation["http"] = request
        operation["retry"] = ["limit": 4, "backoff": "50ms", "on": ["failed", "timedOut"]] as [String: Any]
        if dice.happens(10) {
            plan.hasTimeout = true
            operation["timeout"] = "\(dice.roll(100...1000))ms"
        }
    }
}
