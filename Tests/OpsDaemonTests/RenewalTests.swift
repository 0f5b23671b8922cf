import OpsExecutor
import OpsSystem
import Testing

@testable import OpsDaemon

/// An opsd that finds a runner of another release.
@Suite struct RenewalTests {
    @Test(arguments: ["", "0.0.9"])
    func anOlderRunnerIsAskedOnceToBecomeTheNewProgram(release: String) throws {
        let fixture = try Fixture()
        let runner = StandInRunner(fixture)
        try runner.greet(release: release)
        #expect(runner.orders.contains(.reexecute))
        // It did, and what is installed is as old: asking without end would not help.
        try runner.hangUp()
        try runner.greet(release: release)
        #expect(runner.orders.contains(.hello(version: LaunchProtocol.version)))
        #expect(!runner.orders.contains(.reexecute))
    }

    @Test(arguments: [Release.current.text, "99.0"])
    func othersAreLeftAsTheyAre(release: String) throws {
        let fixture = try Fixture()
        let runner = StandInRunner(fixture)
        try runner.greet(release: release)
        #expect(runner.orders.contains(.hello(version: LaunchProtocol.version)))
        #expect(!runner.orders.contains(.reexecute))
    }

    @Test func releasesCompareNumberByNumber() {
        #expect(Release.isOlder(Release("0.9.1"), than: Release("0.10.0")))
        #expect(Release.isOlder(Release(""), than: .current))
        #expect(!Release.isOlder(.current, than: .current))
    }
}
