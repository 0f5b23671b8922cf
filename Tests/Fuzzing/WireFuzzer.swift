// Compiled by scripts/fuzz; not part of the package.

@testable import OpsWire

/// Messages of clients and the graphs in them.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    guard let input = FuzzInput(data, size) else { return 0 }
    switch input.choice % 4 {
    case 0: fuzzGraph(input.bytes)
    case 1: fuzzMessage(input.bytes)
    case 2: fuzzJSON(input.bytes)
    default: fuzzDefaults(input)
    }
    return 0
}

/// Checks that reading in steps gives the same result as reading at once, and that stored details are read back.
private func fuzzGraph(_ bytes: [UInt8]) {
    var whole = GraphDecoder(now: .zero)
    whole.add(bytes)
    var sliced = GraphDecoder(now: .zero)
    sliced.add(bytes)
    while sliced.step(maxOperations: 1) {}
    let graph = outcome { () throws(GraphRefusal) in try whole.finish() }
    let other = outcome { () throws(GraphRefusal) in try sliced.finish() }
    precondition(graph?.operations.count == other?.operations.count && graph?.edges == other?.edges)
    guard let graph else { return }
    for index in 0..<Int32(graph.details.count) {
        let text = Array(graph.details.utf8(index))
        let details = outcome { () throws(JSONError) in try OperationDetails(json: text) }
        var again = JSONWriter()
        details?.write(to: &again)
        precondition(again.bytes == text)
    }
}

private func fuzzMessage(_ bytes: [UInt8]) {
    if let call = outcome({ () throws(JSONError) in try Call(frame: bytes) }) {
        _ = outcome { () throws(ServiceError) in try ControlRequest(call) }
    }
}

/// Checks that any text that can be read can be written and read again.
private func fuzzJSON(_ bytes: [UInt8]) {
    guard let value = outcome({ () throws(JSONError) in try JSONValue(bytes) }) else { return }
    let again = outcome { () throws(JSONError) in try JSONValue(Array(value.text.utf8)) }
    precondition(again?.text == value.text)
}

/// Defaults up to the first byte 0xff, operations after it.
private func fuzzDefaults(_ input: FuzzInput) {
    let parts = input.pieces
    var decoder = GraphDecoder(defaults: parts[0], now: .zero)
    if parts.count > 1 { decoder.add(parts[1]) }
    _ = outcome { () throws(GraphRefusal) in try decoder.finish() }
    if case .object(let members)? = outcome({ () throws(JSONError) in try JSONValue(parts[0]) }) {
        _ = outcome { () throws(GraphRefusal) in try OperationEdit(JSONObject(members), now: .zero) }
    }
}
