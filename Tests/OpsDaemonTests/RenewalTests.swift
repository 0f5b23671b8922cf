import OpsExecutor
import OpsSystem
import Testing

@testable import OpsDaemon

/// An opsd that finds a runner of another release.
@Suite struct RenewalTests {
    @Test(arguments: ["", "0.0.9"])
    func `an older runner is asked once to re-execute`(release: String) throws {
        let fixture = try Fixture()
        let runner = StandInRunner(fixture)
        try runner.greet(release: release)
        #expect(runner.orders.contains(.reexecute))
        // It did, and the installed program has the same release, so asking again would not help.
        try runner.hangUp()
        try runner.greet(release: release)
        #expect(runner.orders.contains(.hello(version: LaunchProtocol.version)))
        #expect(!runner.orders.contains(.reexecute))
    }

    @Test(arguments: [Release.current.text, "99.0"])
    func `runners of the same and of a newer release are not asked to re-execute`(release: String) throws {
        let fixture = try Fixture()
        let runner = StandInRunner(fixture)
        try runner.greet(release: release)
        #expect(runner.orders.contains(.hello(version: LaunchProtocol.version)))
        #expect(!runner.orders.contains(.reexecute))
    }

    @Test func `releases are compared number by number`() {
        #expect(Release.isOlder(Release("0.9.1"), than: Release("0.10.0")))
        #expect(Release.isOlder(Release(""), than: .current))
        #expect(!Release.isOlder(.current, than: .current))
    }
}
