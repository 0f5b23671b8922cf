// Coverage-guided fuzzing of OpsWire. Not part of the package: scripts/fuzz compiles it together with OpsWire's sources.

/// The first byte chooses what the rest is.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    guard let first = UnsafeBufferPointer(start: data, count: size).first else { return 0 }
    let bytes = Array(UnsafeBufferPointer(start: data, count: size).dropFirst())
    switch first % 4 {
    case 0: fuzzGraph(bytes)
    case 1: fuzzMessage(bytes)
    case 2: fuzzJSON(bytes)
    default: fuzzDefaults(bytes)
    }
    return 0
}

/// Slices come to the same as the whole, and stored details are read back.
private func fuzzGraph(_ bytes: [UInt8]) {
    var whole = GraphDecoder(now: 0)
    whole.add(bytes)
    var sliced = GraphDecoder(now: 0)
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
private func fuzzDefaults(_ bytes: [UInt8]) {
    let parts = bytes.split(separator: 0xff, maxSplits: 1, omittingEmptySubsequences: false).map { Array($0) }
    var decoder = GraphDecoder(defaults: parts[0], now: 0)
    if parts.count > 1 { decoder.add(parts[1]) }
    _ = outcome { () throws(GraphRefusal) in try decoder.finish() }
    if case .object(let members)? = outcome({ () throws(JSONError) in try JSONValue(parts[0]) }) {
        _ = outcome { () throws(GraphRefusal) in try OperationEdit(JSONObject(members), now: 0) }
    }
}

/// Refusals are what most inputs come to: only crashes and broken promises count.
private func outcome<Value, Failure: Error>(_ body: () throws(Failure) -> Value) -> Value? {
    do throws(Failure) { return try body() } catch { return nil }
}

/// The interface file is embedded by the package alone.
enum PackageResources {
    // swift-format-ignore: AlwaysUseLowerCamelCase
    static let org_opsd_Control_varlink: [UInt8] = []
}
