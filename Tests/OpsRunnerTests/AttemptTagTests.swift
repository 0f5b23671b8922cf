import OpsExecutor
import OpsSystem
import Testing

@testable import OpsRunner

/// The environment of a process names its attempt. Any process can have any environment.
@Suite struct AttemptTagTests {
    private func tag(helper: String? = nil) -> AttemptTag? {
        let own = ["OPS_ID=12", "OPS_ATTEMPT=3", "OPS_SOCKET=/run/opsd/control.sock"]
        return AttemptTag(environment: own + (helper.map { [AttemptID.helperVariable + "=" + $0] } ?? []))
    }

    @Test func `a helper has a number of its own`() {
        #expect(tag()?.attempt == AttemptID(OperationID(12), 3))
        #expect(tag(helper: "7")?.attempt == AttemptID(OperationID(12), -7))
    }

    @Test(arguments: ["-2147483648", "-1", "0"])
    func `numbers that no helper has name no attempt`(helper: String) {
        #expect(tag(helper: helper) == nil)
    }
}
