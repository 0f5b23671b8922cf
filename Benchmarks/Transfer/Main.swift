internal import OpsSystem
internal import OpsTransfer

/// Measures the engine: `files BASE COUNT FOLDER WINDOW` fetches BASE/0 to BASE/COUNT-1 with WINDOW at a time and prints
/// seconds; `hold BASE COUNT FOLDER` prints private KiB for each of COUNT transfers that have begun and do not end.
@main struct Main {
    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        guard words.count >= 4, let count = Int(words[2]) else { return fail("files|hold BASE COUNT FOLDER [WINDOW]") }
        do {
            let engine = try Engine(.fromEnvironment())
            let bench = Bench(base: words[1], count: count, folder: words[3], engine: engine)
            if words[0] == "hold" { return try bench.hold() }
            guard words.count > 4, let window = Int(words[4]) else { return fail("give a window") }
            try bench.fetch(window: window)
        } catch {
            fail("\(error)")
        }
    }

    static func fail(_ text: String) {
        Program.writeError("transfer-bench: \(text)")
        Program.exit(status: 1)
    }
}

final class Bench {
    let base: String
    let count: Int
    let folder: String
    let engine: Engine
    private var running: [Int: Download] = [:]
    private var failures: [Failure] = []

    init(base: String, count: Int, folder: String, engine: Engine) {
        self.base = base
        self.count = count
        self.folder = folder
        self.engine = engine
    }

    private func start(_ number: Int) throws {
        let address = try WebAddress("\(base)/\(number)")
        let request = DownloadRequest(address: address, target: "\(folder)/\(number)")
        let download = try Download(request, on: engine) { [self] event in
            guard case .ended(let result) = event else { return }
            running[number] = nil
            if case .failure(let failure) = result { failures.append(failure) }
        }
        running[number] = download
        download.start()
    }

    private func step() throws {
        try engine.wait(milliseconds: 1000)
        try engine.step()
        if let failure = failures.first { throw failure }
    }

    func fetch(window: Int) throws {
        let start = Clock.read().monotonic
        var next = 0
        while next < count || !running.isEmpty {
            while next < count && running.count < window {
                try self.start(next)
                next += 1
            }
            try step()
        }
        Program.writeOutput("\(Double((Clock.read().monotonic - start).milliseconds) / 1000)\n")
    }

    func hold() throws {
        try OpenFiles.raiseLimit()
        // The first transfer brings along what all share: libraries, authorities, a resolver.
        try start(0)
        while running.values.contains(where: { $0.progress.done == 0 }) { try step() }
        let before = try Self.privateKibibytes()
        for number in 1...count { try start(number) }
        while running.values.contains(where: { $0.progress.done == 0 }) { try step() }
        // As opsd-transfer does once a second.
        engine.releaseMemory()
        let after = try Self.privateKibibytes()
        Program.writeOutput("\(Double((after - before) * 100 / count) / 100)\n")
        for download in running.values { download.cancel() }
    }

    private static func privateKibibytes() throws -> Int {
        let text = String(decoding: try Files.read("/proc/self/smaps_rollup", limit: 65_536), as: UTF8.self)
        return text.split(separator: "\n").filter { $0.hasPrefix("Private_") }.reduce(0) { sum, line in
            sum + (line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0)
        }
    }
}
