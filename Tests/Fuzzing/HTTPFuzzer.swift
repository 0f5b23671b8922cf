// Compiled by scripts/fuzz; not part of the package.

import OpsSystem
import OpsWire

@testable import OpsTransfer
@testable import OpsWeb

/// Requests to opsd-web, and answers of servers to opsd-transfer.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    guard let input = FuzzInput(data, size) else { return 0 }
    switch input.choice % 4 {
    case 0: fuzzRequest(input)
    case 1: fuzzCall(input.bytes)
    case 2: fuzzAnswer(input)
    default: fuzzAddress(input)
    }
    return 0
}

/// Checks that no request is admitted without a token or a session.
private func fuzzRequest(_ input: FuzzInput) {
    var head = RequestHead()
    head.method = input.choice & 4 == 0 ? "GET" : "POST"
    for line in input.pieces {
        let halves = line.split(separator: UInt8(ascii: ":"), maxSplits: 1).map { String(decoding: $0, as: UTF8.self) }
        if halves.count == 2 { head.headers.append((halves[0].lowercased(), halves[1])) }
    }
    _ = head.acceptsGzip
    let address: Gate.Address = input.choice & 8 == 0 ? .loopback(port: 8817) : .unix
    guard let credentials else { preconditionFailure("there are no random bytes") }
    precondition(Gate(address: address).judge(head, credentials) != .admitted)
}

/// Credentials that no input can know.
private let credentials = outcome { () throws(SystemError) in try Credentials() }

/// Checks that a forwarded call is one message, and the one that was allowed.
private func fuzzCall(_ bytes: [UInt8]) {
    guard let call = outcome({ () throws(JSONError) in try Call(frame: bytes) }),
        outcome({ () throws(CallPolicy.Refusal) in try CallPolicy(isReadOnly: false).check(call) }) != nil
    else { return }
    var message = call.forwarded(more: false)
    precondition(message.popLast() == 0 && !message.contains(0))
    guard let forwarded = outcome({ () throws(JSONError) in try Call(frame: message) }) else {
        preconditionFailure("a forwarded call cannot be read")
    }
    precondition(forwarded.method.hasSuffix(call.method) && Array(forwarded.parameters) == Array(call.parameters))
}

private func fuzzAnswer(_ input: FuzzInput) {
    let head = ResponseHead(lines: input.pieces.map { String(decoding: $0, as: UTF8.self) })
    _ = Validator(head)
    if let text = head.value(of: .contentRange), let range = ContentRange(text) {
        precondition(range.first >= 0 && range.first <= range.last && range.last < range.total ?? .max)
    }
    _ = head.value(of: .retryAfter).flatMap { HTTPDate.seconds($0) }
}

/// Checks that a redirect leads to http or https, and never from https to http.
private func fuzzAddress(_ input: FuzzInput) {
    let pieces = input.pieces.map { String(decoding: $0, as: UTF8.self) }
    guard let address = outcome({ () throws(Failure) in try WebAddress(pieces[0]) }) else { return }
    precondition(["http", "https"].contains(address.origin.scheme))
    for location in pieces.dropFirst() {
        guard let next = outcome({ () throws(Failure) in try address.following(location) }) else { continue }
        precondition(next.origin.scheme == "https" || address.origin.scheme == next.origin.scheme)
    }
}
