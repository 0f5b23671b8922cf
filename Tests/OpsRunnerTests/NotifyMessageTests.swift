import OpsSystem
import Testing

@testable import OpsRunner

/// Values in messages of the notify protocol.
@Suite struct NotifyMessageTests {
    @Test(arguments: ["256", "-1", "4294967296", "one", ""])
    func `a reported status that no process can have is ignored`(value: String) {
        #expect(OperationUpdate(message: "STATUS=on\nX_OPS_FINISHED=\(value)") == OperationUpdate(status: "on"))
        #expect(OperationUpdate(message: "X_OPS_FINISHED=3\nX_OPS_FINISHED=\(value)").finished == 3)
    }

    @Test func `a shorter extension of the timeout does not replace a longer one`() {
        for (first, second) in [(9, 5), (5, 9)] {
            var update = OperationUpdate(message: "EXTEND_TIMEOUT_USEC=\(first)")
            update.merge(OperationUpdate(message: "EXTEND_TIMEOUT_USEC=\(second)"))
            update.merge(OperationUpdate(message: "STATUS=on"))
            #expect(update.extendTimeout == .nanoseconds(9000))
        }
    }

    @Test func `every exit status can be reported`() {
        for status in [0, 1, 255] as [Int32] {
            #expect(OperationUpdate(message: "X_OPS_FINISHED=\(status)").finished == status)
        }
    }
}
