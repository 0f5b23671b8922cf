import Testing

@testable import OpsClient

/// Keys of an operation as Swift programs set them.
@Suite struct OpsOperationKeysTests {
    @Test(
        arguments: [
            (0.0004, "1ms"), (1.5, "1500ms"), (1e19, "3155760000000ms"), (.infinity, nil), (.nan, nil),
        ] as [(Double, String?)])
    func `a timeout of any size is written`(seconds: Double, text: String?) {
        #expect(OpsOperationKeys.milliseconds(seconds) == text)
    }
}
