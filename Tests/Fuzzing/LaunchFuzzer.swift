// Compiled by scripts/fuzz; not part of the package.

import OpsExecutor

/// Frames between opsd and its executors, in both directions.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    guard let input = FuzzInput(data, size) else { return 0 }
    if input.choice % 2 == 0 {
        fuzzFrames(input.bytes, of: ExecutorCommand.self)
    } else {
        fuzzFrames(input.bytes, of: ExecutorReport.self)
    }
    return 0
}

/// Checks that messages do not depend on how their bytes arrive, and that they are read back as they were written.
private func fuzzFrames<Message: LaunchMessage & Equatable>(_ bytes: [UInt8], of type: Message.Type) {
    let whole: [Message] = messages(in: [bytes])
    precondition(whole == messages(in: bytes.map { [$0] }))
    var written: [UInt8] = []
    for message in whole { message.append(to: &written, for: LaunchProtocol.version) }
    precondition(whole == messages(in: [written]))
}

private func messages<Message: LaunchMessage>(in pieces: [[UInt8]]) -> [Message] {
    var reader = FrameReader<Message>()
    var found: [Message] = []
    for piece in pieces {
        reader.append(piece)
        while true {
            guard let next = outcome({ () throws(ProtocolError) in try reader.next() }) else { return found }
            guard let message = next else { break }
            found.append(message)
        }
    }
    return found
}
