import OpsSystem
import Testing

@testable import OpsRunner

/// The name of the runner's control groups comes from a file, and becomes part of a path.
@Suite struct GroupNameTests {
    @Test(arguments: [
        "../../../../init", "/sys/fs/cgroup/a", "a b c d e f g h ", "0123456789ABCDEF", "0123456789abcde",
    ])
    func `a file that holds no name of ours is replaced`(content: String) throws {
        let state = "/tmp/ops-group-name-\(try Randomness.identifier().prefix(10))"
        try Files.makePrivateDirectory(state)
        defer { removeTree(state) }
        try Files.replace(state + "/runner.id", with: Array(content.utf8), mode: 0o600)
        let options = try RunnerOptions(arguments: ["--state", state])
        let name = try options.groupName()
        #expect(name.hasPrefix("opsd-") && name.utf8.count == 21)
        #expect(name.dropFirst(5).allSatisfy { "0123456789abcdef".contains($0) }, "\(name)")
        #expect(try options.groupName() == name, "it stays the same")
    }
}
