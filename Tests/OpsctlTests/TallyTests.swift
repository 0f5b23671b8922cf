import OpsWire
import Testing

@testable import opsctl

@Suite struct TallyTests {
    @Test(arguments: [(3, 3), (255, 255), (256, 1), (512, 1), (-1, 1)] as [(Int, Int32)])
    func `a stored number that is no exit status becomes 1`(code: Int, status: Int32) {
        var ended = EndedRow()
        ended.id = 1
        ended.outcome = .failed
        ended.exitCode = code
        var tally = Tally()
        _ = tally.add(ended)
        #expect(tally.status(any: false, exitCode: true) == ExitStatus(code: status))
    }
}
